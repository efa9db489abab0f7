// SPDX-License-Identifier: GPL-3.0-or-later
#include <memory>
#include <utility>

#include "bin/power_prediction.h"
#include "bin/trace_channel.h"
#include "emulator/emulator_config.h"
#include "trace/confined_trace.h"
#include "trace/trace_file.h"

namespace wip::emulator {
namespace {

using bin_model::trace_channel;

// A trace file may come from anybody, so a child process without rights reads it
// (confined_trace.h).
snr_source recorded(const channel_config& c, const std::string& user, std::uint64_t seed,
                    int horizon_slots) {
    trace::confined_trace read = trace::read_confined(c.model, user);
    auto played =
        std::make_unique<trace_channel>(std::move(read.snr_db), std::move(read.predicted_snr_db));
    snr_source s;
    if (!c.prediction_nmse) {
        if (!played->has_prediction())
            throw config::error("channel.prediction_nmse is trace: " + c.model +
                                " holds no predictions; valid: 0..0.5");
        // The base station plans horizon_slots ahead; a prediction of fewer slots was made too
        // late.
        const int held = read.horizon_slots.value_or(0);
        if (held < horizon_slots)
            throw config::error("channel.prediction_nmse is trace: " + c.model + " was predicted " +
                                std::to_string(held) + " slots ahead, and the loop takes " +
                                std::to_string(horizon_slots) +
                                "; valid: a trace that was predicted as far ahead, or 0..0.5");
        s.prediction = std::make_unique<bin_model::recorded_prediction>(*played);
    } else if (*c.prediction_nmse == 0) {
        s.prediction = std::make_unique<bin_model::perfect_prediction>(*played);
    } else {
        s.prediction =
            std::make_unique<bin_model::power_prediction>(*played, *c.prediction_nmse, seed);
    }
    s.channel = std::move(played);
    return s;
}

}  // namespace

std::vector<snr_source> make_sources(const emulator_config& config) {
    const channel_config& c = config.channel;
    const int users = config.cell.cell.users;
    const bool is_trace = c.model.ends_with(".h5");
    if (users > 1 && is_trace)
        throw config::error("channel.model is " + c.model +
                            ": a trace is of one terminal, not of " + std::to_string(users) +
                            "; valid: a channel definition, or terminals = 1");
    if (!c.prediction_nmse && !is_trace && c.model != "static" && c.model != "awgn")
        throw config::error(
            "channel.prediction_nmse is trace: the channel is no trace; valid: 0..0.5");
    try {
        if (!is_trace) return cell_model::make_sources(c, config.cell);
        std::vector<snr_source> sources;
        sources.push_back(recorded(c, config.user, config.cell.seed,
                                   config.cell.cell.link.retransmission_delay_slots));
        return sources;
    } catch (const trace::error& e) {
        throw config::error(e.what());
    } catch (const std::invalid_argument& e) {
        throw config::error("channel.model is " + c.model + ": " + e.what());
    }
}

}  // namespace wip::emulator
