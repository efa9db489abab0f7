// SPDX-License-Identifier: GPL-3.0-or-later
// The bearers of the literature, each fact once: Teyeb 2006 (tables 5.3, 7.1, 8.1), Lundsten
// (table 2) and Smaragdakis 2006. The rate is that of SDUs and LIs: a PDU has its header on top, as
// the radio bearers of 3GPP have it (384 kbit/s: 12 PDUs of 320 + 16 bits in 10 ms).
#pragma once

#include <span>
#include <string_view>

namespace wip::umts {

struct bearer_profile {
    std::string_view name;
    double kbps_down, kbps_up;
    double one_way_ms;  // for a packet of one radio block, the mean wait for it included
    double radio_ms;    // part of it between the two ends of the RLC, the block itself not included
    int tti_ms;
    int block_down, block_up;  // octets of a PDU without its header
    // The uplink asks for status now and then, not with each last PDU: where a PDU is a whole
    // interval, a status PDU takes as much of the downlink.
    bool quiet_uplink = false;
};

std::span<const bearer_profile> bearer_profiles();
// The profile of that name; null: there is none.
const bearer_profile* find_bearer_profile(std::string_view name);

}  // namespace wip::umts
