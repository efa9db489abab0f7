// SPDX-License-Identifier: GPL-3.0-or-later
// The channel measured in every run: y = H x. Before the first sample of a station goes through,
// each node that sends is heard with a known burst in the place of what its radio receives, one
// after the other; what the fader hands to each transmitter of a path is compared with the taps
// that are commanded at that moment.
//
//   burst     known_burst.h: its first period is for the channel's delays, four windows are
//             measured, the last period is for the filters
//   residual  |H measured - H commanded|^2 over |H commanded|^2 in the 4.8 MHz around the carrier,
//             after the mean over the windows and over 150 kHz, which is what noise is left of
//   limit     -25 dB, and four times the mean of what the receiver's noise is left with
//
// Shared by two threads: the one that mixes writes, any other asks when a pair is done.
#pragma once

#include <array>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "fader/known_burst.h"
#include "mix/mixer.h"

namespace wip::cabled {

using mix::cf32;
using mix::tick;

// All paths from one node to another.
struct node_pair {
    std::size_t from, to;
    std::vector<std::size_t> paths;
    std::string why_not{};  // of what is measured something else than the taps
};
std::vector<node_pair> pairs_of(const mix::mix_config& config);
std::vector<mix::path_tap> taps_of(const node_pair& p, tick at, mix::mixer& mixer);
// The reason for which a pair with these taps is not evaluated; empty: it is evaluated.
std::string reason_not_evaluated(const node_pair& p, std::span<const mix::path_tap> taps);

struct sounding_result {
    std::size_t from = 0, to = 0;
    bool evaluated = false;
    double residual_db = 0, limit_db = 0;
    std::string why_not{};  // of one that is not evaluated
};

class sounding {
public:
    static constexpr tick period = known_burst::period, burst = known_burst::size;
    static constexpr std::size_t windows = known_burst::windows;
    static constexpr double limit_db = -25, amplitude = known_burst::amplitude;

    // `longest`: the mixer's longest delay. The first burst is at `begin`.
    sounding(const mix::mix_config& config, tick begin, tick longest);

    tick end() const noexcept { return end_; }
    // Replaces the samples received at a node, from `first` on: before end() they become the burst,
    // or silence.
    void replace(std::size_t node, tick first, std::span<cf32> x) const;
    // Takes the samples for a node's transmitter, by their time at the receivers.
    void heard(std::size_t node, tick first, std::span<const cf32> y, mix::mixer& mixer);
    // The results of all pairs; nothing while one is not complete.
    std::optional<std::vector<sounding_result>> results() const;

private:
    struct pair : node_pair {
        tick begin;                 // of its burst
        std::optional<tick> first;  // of its windows; nothing: not known yet
        std::vector<cf32> y{};
        std::array<std::vector<mix::path_tap>, windows> commanded{};
    };
    void prepare(pair& p, mix::mixer& mixer) const;
    sounding_result result(const pair& p) const;

    mix::mix_config config_;
    std::vector<cf32> sequence_;
    std::vector<pair> pairs_;
    tick end_;
    bool complete_ = false;  // of all pairs
    mutable std::vector<sounding_result> results_;
    mutable std::mutex mutex_;
};

}  // namespace wip::cabled
