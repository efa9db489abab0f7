// SPDX-License-Identifier: GPL-3.0-or-later
// The configuration of a mixer: nodes, and paths from one to another. Values are already checked.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "mix/tick.h"
#include "sample/channel_config.h"
#include "sample/stage_chain.h"
#include "sample/trace_filter.h"
#include "types/db.h"

namespace wip::mix {

// Whether there is shadowing, and its standard deviation; nullopt: that of the definition.
struct shadowing_request {
    bool on = false;
    std::optional<double> deviation_db{};
    bool operator==(const shadowing_request&) const = default;
};

// The settings of a channel, from which it is realised with the seed.
struct channel_request {
    std::string model{};
    std::optional<double> delay_spread_ns{}, doppler_hz{}, speed_kmh{}, carrier_hz{};
    shadowing_request shadowing{};
};

struct node_config {
    std::string name;
    std::optional<double> noise_dbfs;  // at the receiver's input, over the whole sample rate
    std::vector<sample_model::impairment_config> impairments{};  // the receiver's, in this order
    // A clock_offset among them is the receiver's own sampling clock: the impairments before it act
    // at the medium's rate, those after it at the receiver's. A gap is an overflow.
    double transmit_dbfs = nominal_transmit_level.value;  // transmitted level with all bins in use
};

struct path_config {
    std::size_t from = 0, to = 0;  // node numbers
    double gain_db = 0;
    std::int64_t delay_samples = 0;
    double frequency_shift_hz = 0;
    std::optional<sample_model::channel_config> channel{};  // fading, movement, large-scale gain
    std::optional<sample_model::trace_config>
        trace{};                // instead of a channel: gains of an SNR trace
    channel_request request{};  // request from which `channel` was made
    std::uint32_t user = 0;  // purpose of the channel's random numbers: paths with the same one and
                             // the same channel have the same fading
    std::vector<sample_model::impairment_config> impairments{};
};

inline constexpr std::int64_t max_delay_samples = 65536;

struct mix_config {
    std::uint64_t seed = 1;
    // A receiver receives transmitters whose frequency differs by at most this.
    double hearing_hz = 20e3;
    std::vector<node_config> nodes;
    std::vector<path_config> paths;
};

}  // namespace wip::mix
