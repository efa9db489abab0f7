// SPDX-License-Identifier: GPL-3.0-or-later
// Settings of an 802.11b cell: rates, retry limits, and what a node does at its limit.
#pragma once

#include <cstdint>

#include "types/setting_limits.h"
#include "wlan/dcf_times.h"

namespace wip::wlan {

struct wlan_config {
    double rate_mbps = 11;        // rate of data frames: 1, 2, 5.5, 11
    double control_mbps = 1;      // rate of RTS, CTS and ACK: 1, 2, 5.5, 11
    bool short_preamble = false;  // not with a control rate of 1
    int rts_threshold =
        setting::wlan_rts_threshold.initial;  // bytes: longer frames follow an RTS and are "long"
    int retry_limit = 0;                      // attempts with a frame; 0: 7, or 4 with a long one
    bool dynamic_limit = false;               // instead of retry_limit: retry_control.h
    double patience_ms = setting::wlan_patience_ms.initial;
    int stations = 1;  // 1 .. 32
    int hops =
        setting::wlan_hops.initial;  // between each station and the access point, through relays
    int queue_packets = setting::wlan_queue_packets
                            .initial;  // of each queue, drop tail; the frame in service counts
    bool put_back = true;              // the access point drops no frame: see wlan_cell.h
    bool late_growth = false;  // the window grows from the second failed attempt on (802.11: first)
    std::uint64_t seed = 1;    // seed of the backoffs

    void check() const;  // throws std::invalid_argument naming key, value and what would be valid
    dcf_times times() const;
};

}  // namespace wip::wlan
