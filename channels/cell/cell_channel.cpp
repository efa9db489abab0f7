// SPDX-License-Identifier: GPL-3.0-or-later
#include "cell/cell_channel.h"

#include <algorithm>
#include <stdexcept>

#include "bin/fading_channel.h"
#include "bin/gain_prediction.h"
#include "bin/trace_channel.h"
#include "types/db.h"

namespace wip::cell_model {
namespace {

// A source without fading, whose prediction is always right.
snr_source steady(const channel_config& c, db mean) {
    bin_model::trace_row row;
    row.fill(mean.single());
    std::copy(c.bins_db.begin(), c.bins_db.end(), row.begin());
    snr_source s;
    s.channel = std::make_unique<bin_model::trace_channel>(std::vector{row});
    s.prediction = std::make_unique<bin_model::perfect_prediction>(*s.channel);
    return s;
}

snr_source fading(const channel_config& c, db mean, std::uint64_t seed, int user) {
    profiles::channel_choice choice;
    const auto definition = profiles::load_definition(c.model);
    // A definition has a track for each user, or a single one that all users share.
    if (definition.users.size() != 1) choice.user = static_cast<std::size_t>(user);
    choice.speed_kmh = c.speed_kmh;
    choice.shadowing = c.shadowing;
    choice.shadowing_db = c.shadowing_db;
    bin_model::fading_config f;
    f.channel = profiles::realise(definition, choice, seed);
    f.mean_snr_db = mean.value;
    f.seed = seed;
    f.purpose = static_cast<std::uint32_t>(user);
    snr_source s;
    auto channel = std::make_unique<bin_model::fading_channel>(f);
    if (!c.prediction_nmse)
        throw std::invalid_argument(
            "prediction_nmse is trace, and the channel is not a trace; valid: a number");
    if (*c.prediction_nmse == 0)
        s.prediction = std::make_unique<bin_model::perfect_prediction>(*channel);
    else
        // 3 slots ahead, whatever link.retransmission_delay_ms is: Alfredsson (2012) varies that
        // delay alone.
        s.prediction = std::make_unique<bin_model::gain_prediction>(
            f, *c.prediction_nmse, slot_count(3), channel.get(), c.prediction_mean);
    s.channel = std::move(channel);
    return s;
}

}  // namespace

std::vector<snr_source> make_sources(const channel_config& c, const emulation_config& cell) {
    std::vector<snr_source> sources;
    for (int u = 0; u < cell.cell.users; ++u) {
        const auto n = static_cast<std::size_t>(u);
        const db mean(n < c.users_db.size() ? static_cast<double>(c.users_db[n]) : c.snr_db);
        sources.push_back(c.model == "static" || c.model == "awgn" ? steady(c, mean)
                                                                   : fading(c, mean, cell.seed, u));
    }
    return sources;
}

}  // namespace wip::cell_model
