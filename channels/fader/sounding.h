// SPDX-License-Identifier: GPL-3.0-or-later
// The channel measured in every run: y = H x. Before the first sample of a station is passed on, a
// known burst replaces what a node's radio receives, for one sending node after the other; the
// samples that the fader then gives to the transmitter at the end of each path are compared with
// the taps that are commanded at that moment.
//
//   burst     known_burst.h: the first period lets all paths arrive, four windows are measured, the
//             last period is for the filters' tails
//   residual  |H measured - H commanded|^2 over |H commanded|^2 in the 4.8 MHz around the carrier,
//             after averaging over the windows and over 150 kHz, which reduces the noise
//   limit     the power of -25 dB plus four times the mean residue of the receiver's noise
//
// The mixing thread writes, any other thread may read results.
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
    // Reason for which the measurement does not show the taps alone; empty: none.
    std::string why_not{};
};
std::vector<node_pair> pairs_of(const mix::mix_config& config);
std::vector<mix::path_tap> taps_of(const node_pair& p, tick at, mix::mixer& mixer);
// The reason for which a pair with these taps is not evaluated; empty: it is evaluated.
std::string reason_not_evaluated(const node_pair& p, std::span<const mix::path_tap> taps);

struct sounding_result {
    std::size_t from = 0, to = 0;
    bool evaluated = false;
    double residual_db = 0, limit_db = 0;
    std::string why_not{};  // reason, if it is not evaluated
};

class sounding {
public:
    static constexpr tick period = known_burst::period, burst = known_burst::size;
    static constexpr std::size_t windows = known_burst::windows;
    static constexpr double limit_db = -25, amplitude = known_burst::amplitude;

    // `longest`: the mixer's longest delay. The first burst is at `begin`.
    sounding(const mix::mix_config& config, tick begin, tick longest);

    tick end() const noexcept { return end_; }
    // Replaces the samples received at a node from `first` on by the burst, or by zeros, until
    // end().
    void replace(std::size_t node, tick first, std::span<cf32> x) const;
    // Takes the samples that go to a node's transmitter, with their time at the receivers.
    void heard(std::size_t node, tick first, std::span<const cf32> y, mix::mixer& mixer);
    // The results of all pairs; nullopt until all are complete.
    std::optional<std::vector<sounding_result>> results() const;

private:
    struct pair : node_pair {
        tick begin;                 // begin of the burst of node `from`
        std::optional<tick> first;  // begin of the measured windows; nullopt: not known yet
        std::vector<cf32> y{};
        std::array<std::vector<mix::path_tap>, windows> commanded{};
    };
    void prepare(pair& p, mix::mixer& mixer) const;
    sounding_result result(const pair& p) const;

    mix::mix_config config_;
    std::vector<cf32> sequence_;
    std::vector<pair> pairs_;
    tick end_;
    bool complete_ = false;  // all pairs are measured
    mutable std::vector<sounding_result> results_;
    mutable std::mutex mutex_;
};

}  // namespace wip::cabled
