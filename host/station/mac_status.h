// SPDX-License-Identifier: GPL-3.0-or-later
// The counters of the link as parts of a MacStatus, for every process that holds a MAC. What lies
// around the MAC (interface, wired network, radio) is added by its owner.
#pragma once

#include <vector>

#include "extension/own_rules.h"
#include "link/link_statistics.h"
#include "packet/emulated_uplink.h"
#include "port/packet_link.h"
#include "schema/control.pb.h"

namespace wip::host {

void fill_base(const base_statistics& s, openwip::control::MacStatus& status);
// The cost of rules of the user's own at this end.
void fill_rules(const std::vector<extension::rule_cost>& costs,
                openwip::control::MacStatus& status);
// The base station's end of the downlink: in, sent, queued and dropped at the MAC.
void fill_downlink_sent(const base_statistics& s, openwip::control::Direction& d);

void fill_terminal(const terminal_statistics& s, openwip::control::MacStatus& status);
// The terminal's end of the downlink but for `delivered`, which its interface counts.
void fill_downlink_received(const terminal_statistics& s, openwip::control::Direction& d);

// The terminal's end of the uplink. `unsent`: left the line while there was no peer.
void fill_uplink_sent(const uplink_statistics& s, const packets_bytes& unsent,
                      openwip::control::MacStatus& status);

// Adds the wired network on the far side of a base station, to what its MAC and its end of the
// uplink count.
void add_wired(const link_sums& to_base, const link_sums& from_base,
               openwip::control::MacStatus& status);

// Adds the counts of another station's status: packets, bytes, link counters.
void add_up(openwip::control::MacStatus& sum, const openwip::control::MacStatus& more);

}  // namespace wip::host
