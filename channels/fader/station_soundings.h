// SPDX-License-Identifier: GPL-3.0-or-later
// The bursts that a base station sends before its first slot (known_burst.h), as they go through
// the fader: which taps were commanded while the middle of each was mixed. The terminal, at the end
// of all radios and cables, reports what it received of them; the run that has both compares them
// (host/cli/openwip_cli/figures/through_radios.py).
//
// The mixing thread writes, any other thread may read.
#pragma once

#include <deque>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "fader/known_burst.h"
#include "fader/sounding.h"
#include "mix/mixer.h"

namespace wip::cabled {

struct station_sounding {
    std::size_t from = 0, to = 0;
    tick centre = 0;           // centre of the burst, in the fader's time of reception
    burst_response commanded;  // without noise
    double snr_db = 0;         // expected from the fader's noise at `to`; the receiver adds its own
    std::string why_not{};     // reason for which it does not show the taps; empty: it does
};

class station_soundings {
public:
    explicit station_soundings(const mix::mix_config& config);
    // Takes the samples received at a node.
    void received(std::size_t node, tick first, std::span<const cf32> x, mix::mixer& mixer);
    std::vector<station_sounding> heard() const;  // for the last four starts of each station

private:
    void command(std::size_t node, const heard_burst& b, mix::mixer& mixer);

    const mix::mix_config config_;
    const std::vector<node_pair> pairs_;
    std::vector<burst_listener> listeners_;  // by node
    std::deque<station_sounding> heard_;
    mutable std::mutex mutex_;
};

}  // namespace wip::cabled
