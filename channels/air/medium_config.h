// SPDX-License-Identifier: GPL-3.0-or-later
// What a medium is made of. Values are already checked by air_config (or set by a program).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "air/layout.h"
#include "runtime/realtime.h"
#include "sample/channel_config.h"
#include "sample/stage_chain.h"

namespace wip::air {

// Whether there is slow fading, and its standard deviation where one is asked for.
struct shadowing_request {
    bool on = false;
    std::optional<double> deviation_db{};
    bool operator==(const shadowing_request&) const = default;
};

// A channel as it is asked for, before it is realised with the seed.
struct channel_request {
    std::string model{};
    std::optional<double> delay_spread_ns{}, doppler_hz{}, speed_kmh{}, carrier_hz{};
    shadowing_request shadowing{};
};

struct node_config {
    std::string name;
    std::optional<double> noise_dbfs;  // at the receiver's input, over the whole sample rate
    std::vector<sample_model::impairment_config> impairments{};  // of its receiver, in this order
    // A clock_offset among them is the receiver's own sampling clock: what stands before it happens
    // at the medium's rate, what stands after it at the receiver's. A gap is an overflow.
};

struct path_config {
    std::size_t from = 0, to = 0;  // node numbers
    double gain_db = 0;
    std::int64_t delay_samples = 0;
    double frequency_shift_hz = 0;
    std::optional<sample_model::channel_config> channel{};  // fading, movement, large-scale gain
    channel_request request{};                              // that it was made from
    std::uint32_t user = 0;  // purpose of the channel's random numbers: paths alike fade alike
    std::vector<sample_model::impairment_config> impairments{};
};

inline constexpr std::int64_t max_delay_samples = 65536;
inline constexpr std::int64_t realtime_quantum = 2560;

struct medium_config {
    std::string name = "air";
    clock_kind clock = clock_kind::lockstep;
    double speed = 1;  // 0: as fast as the stations can
    int wait_transmitters = 0;
    int wait_receivers = 0;
    std::uint64_t seed = 1;
    std::string control;  // endpoint, empty: none
    double pacing_limit_ms = 10;
    std::int64_t quantum = 5120;  // samples released at a time: one slot; realtime half
    double hearing_hz = 20e3;     // a receiver hears transmitters tuned this close
    // SCHED_FIFO if allowed, 0: leave. Below the stations': whom a released slot wakes goes first,
    // and the samples of the next one are computed while they wait for the clock.
    int priority = runtime::slot_path_priority - 1;
    std::string user;  // whom a medium that is started as root becomes; empty: it stays
    std::vector<node_config> nodes;
    std::vector<path_config> paths;
};

}  // namespace wip::air
