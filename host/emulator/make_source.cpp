// SPDX-License-Identifier: GPL-3.0-or-later
#include "bin/fading_channel.h"
#include "bin/gain_prediction.h"
#include "bin/power_prediction.h"
#include "bin/trace_channel.h"
#include "emulator/confined_trace.h"
#include "emulator/emulator_config.h"
#include "profiles/channel_definition.h"
#include "trace/trace_file.h"

namespace wip::emulator {
namespace {

using bin_model::trace_channel;

// Without fading there is nothing to predict: the prediction is right.
snr_source fixed(const channel_config& c, db mean) {
    bin_model::trace_row row;
    row.fill(mean.single());
    std::copy(c.bins_db.begin(), c.bins_db.end(), row.begin());
    snr_source s;
    s.channel = std::make_unique<trace_channel>(std::vector{row});
    s.prediction = std::make_unique<bin_model::perfect_prediction>(*s.channel);
    return s;
}

snr_source fading(const channel_config& c, db mean, std::uint64_t seed, int user) {
    profiles::channel_choice choice;
    const auto definition = profiles::load_definition(c.model);
    if (user > 0 && definition.nof_users() > 1) choice.user = static_cast<std::size_t>(user);
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
        throw config::error(
            "channel.prediction_nmse = trace: the channel is no trace; valid: 0..0.5");
    if (*c.prediction_nmse == 0)
        s.prediction = std::make_unique<bin_model::perfect_prediction>(*channel);
    else
        s.prediction = std::make_unique<bin_model::gain_prediction>(f, *c.prediction_nmse,
                                                                    slot_count(3), channel.get());
    s.channel = std::move(channel);
    return s;
}

snr_source recorded(const channel_config& c, const std::string& user, std::uint64_t seed,
                    int horizon_slots) {
    auto [trace, horizon] = read_confined(c.model, user);
    snr_source s;
    if (!c.prediction_nmse) {
        if (!trace->has_prediction())
            throw config::error("channel.prediction_nmse = trace: " + c.model +
                                " holds no predictions; valid: 0..0.5");
        // What was predicted later than the loop asks is known too late.
        const int held = horizon.value_or(0);
        if (held < horizon_slots)
            throw config::error("channel.prediction_nmse = trace: " + c.model + " was predicted " +
                                std::to_string(held) + " slots ahead, the loop takes " +
                                std::to_string(horizon_slots));
        s.prediction = std::make_unique<trace_channel>(*trace);
    } else if (*c.prediction_nmse == 0) {
        s.prediction = std::make_unique<bin_model::perfect_prediction>(*trace);
    } else {
        s.prediction =
            std::make_unique<bin_model::power_prediction>(*trace, *c.prediction_nmse, seed);
    }
    s.channel = std::move(trace);
    return s;
}

}  // namespace

std::vector<snr_source> make_sources(const emulator_config& config) {
    const channel_config& c = config.channel;
    const std::uint64_t seed = config.cell.seed;
    const auto users = static_cast<std::size_t>(config.cell.cell.users);
    if (users > 1 && c.model.ends_with(".h5"))
        throw config::error("channel.model = " + c.model + ": a trace is of one terminal, not of " +
                            std::to_string(users));
    std::vector<snr_source> sources;
    try {
        for (std::size_t u = 0; u < users; ++u) {
            const db mean(u < c.users_db.size() ? c.users_db[u] : c.snr_db);
            if (c.model == "static" || c.model == "awgn")
                sources.push_back(fixed(c, mean));
            else if (c.model.ends_with(".h5"))
                sources.push_back(recorded(c, config.user, seed,
                                           config.cell.cell.link.retransmission_delay_slots));
            else
                sources.push_back(fading(c, mean, seed, static_cast<int>(u)));
        }
    } catch (const trace::error& e) {
        throw config::error(e.what());
    } catch (const std::invalid_argument& e) {
        throw config::error("channel.model = " + c.model + ": " + e.what());
    }
    return sources;
}

}  // namespace wip::emulator
