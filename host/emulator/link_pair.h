// SPDX-License-Identifier: GPL-3.0-or-later
// What carries the packets between the server and the terminals, both directions, and what is said
// of it: the OFDM cell or 802.11b (cell_path.h), or a link_pair, as the process of all other links
// (link_process.h) has them. A further kind of link is one of these, its value of link.kind, and a
// line in make_links().
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "emulator/emulator_config.h"
#include "port/packet_link.h"
#include "schema/control.pb.h"

namespace wip::emulator {

class packet_path {
public:
    virtual ~packet_path() = default;
    virtual packet_link& downlink() = 0;
    virtual packet_link& uplink() = 0;
    // Of an empty status, what either end counts, but for the interfaces' part.
    virtual void fill_base(openwip::control::MacStatus& status) const = 0;
    virtual void fill_terminal(openwip::control::MacStatus& status) const = 0;
};

// Either direction moves both on, and says when both want to be moved on.
class link_pair : public packet_path {
public:
    // Live settings of this link, from now on. Nothing else is different in `wanted`.
    virtual void apply(const emulator_config& wanted, std::int64_t now_ns) = 0;
    // Of these, the keys of those that were for some time, which is over: they are 0 again.
    virtual std::vector<std::string> ended(std::int64_t /*now_ns*/) const { return {}; }
};

// By link.kind, which is neither ofdm nor wlan.
std::unique_ptr<link_pair> make_links(const emulator_config& config);
// By link.kind.
std::unique_ptr<packet_path> make_path(const emulator_config& config);

// A direction at the end that sends, and at the other one: what the link delivered came in there.
void fill_sender(const packet_link& link, openwip::control::Direction& d);
void fill_receiver(const packet_link& link, openwip::control::Direction& d);

}  // namespace wip::emulator
