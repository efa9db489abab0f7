// SPDX-License-Identifier: GPL-3.0-or-later
#include "bin/fading_channel.h"
#include "bin/gain_prediction.h"
#include "bin/power_prediction.h"
#include "bin/trace_channel.h"
#include "emulator/emulator_config.h"
#include "profiles/channel_definition.h"
#include "trace/trace_file.h"

namespace wip::emulator {
namespace {

using bin_model::trace_channel;

// Without fading there is nothing to predict: the prediction is right.
snr_source fixed(const channel_config& c) {
    bin_model::trace_row row;
    row.fill(static_cast<float>(c.snr_db));
    std::copy(c.bins_db.begin(), c.bins_db.end(), row.begin());
    snr_source s;
    s.channel = std::make_unique<trace_channel>(std::vector{row});
    s.prediction = std::make_unique<bin_model::perfect_prediction>(*s.channel);
    return s;
}

snr_source fading(const channel_config& c, std::uint64_t seed) {
    profiles::channel_choice choice;
    choice.speed_kmh = c.speed_kmh;
    bin_model::fading_config f;
    f.channel = profiles::realise(profiles::load_definition(c.model), choice, seed);
    f.mean_snr_db = c.snr_db;
    f.seed = seed;
    snr_source s;
    s.channel = std::make_unique<bin_model::fading_channel>(f);
    if (!c.prediction_nmse)
        throw config::error(
            "channel.prediction_nmse = trace: the channel is no trace; valid: 0..0.5");
    if (*c.prediction_nmse == 0)
        s.prediction = std::make_unique<bin_model::perfect_prediction>(*s.channel);
    else
        s.prediction = std::make_unique<bin_model::gain_prediction>(f, *c.prediction_nmse);
    return s;
}

snr_source recorded(const channel_config& c, std::uint64_t seed, int horizon_slots) {
    trace::reader file(c.model);
    auto trace = std::make_unique<trace_channel>(trace::load(file));
    snr_source s;
    if (!c.prediction_nmse) {
        if (!trace->has_prediction())
            throw config::error("channel.prediction_nmse = trace: " + c.model +
                                " holds no predictions; valid: 0..0.5");
        // What was predicted later than the loop asks is known too late.
        const int held = file.info().prediction ? file.info().prediction->horizon_slots : 0;
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

snr_source make_source(const channel_config& c, std::uint64_t seed, int horizon_slots) {
    if (c.model == "static" || c.model == "awgn") return fixed(c);
    try {
        if (c.model.ends_with(".h5")) return recorded(c, seed, horizon_slots);
        return fading(c, seed);
    } catch (const trace::error& e) {
        throw config::error(e.what());
    } catch (const std::invalid_argument& e) {
        throw config::error("channel.model = " + c.model + ": " + e.what());
    }
}

}  // namespace wip::emulator
