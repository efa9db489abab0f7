// SPDX-License-Identifier: GPL-3.0-or-later
// The path of the packets between the server and the terminals, and its status: a packet_path from
// interface to interface, delay injection with it, which is the OFDM cell's or has a link_pair in
// it (delayed_path.h). A further kind of link is a link_pair, its value of link.kind, and two lines
// in make_links().
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "emulator/emulator_config.h"
#include "journal/packet_record.h"
#include "port/packet_link.h"
#include "schema/control.pb.h"

namespace wip::emulator {

// Between two times at which a link tells what it is at: 10 ms, exactly.
inline constexpr std::int64_t beat_slots = 15;

class link_pair {
public:
    virtual ~link_pair() = default;
    // The links of server and terminals; a packet's tag is its terminal.
    virtual packet_link& downlink() = 0;
    virtual packet_link& uplink() = 0;
    // Fills in the link's counts: for all terminals, and, if it tells them apart, for each. The
    // counts of both directions as a whole are the path's.
    virtual void fill_base(openwip::control::MacStatus& status) const = 0;
    virtual void fill_terminal(openwip::control::MacStatus& status) const = 0;
    // Live settings, from now on. What is not of this link is nothing to it.
    virtual void apply(const emulator_config& wanted, std::int64_t now_ns) = 0;
    // Each PDU that is sent, as a packet that Wireshark reads. A link that has none says nothing.
    using pdu_fn = std::function<void(bool downlink, int user, std::span<const std::uint8_t> packet,
                                      std::int64_t sent_ns, bool lost)>;
    virtual void watch_pdus(const pdu_fn& /*watch*/) {}
    // The way of each packet, of both directions or of the downlink; empty: no longer. A link may
    // have no journal.
    using packet_fn = std::function<void(const packet_record&, int user)>;
    virtual void follow_packets(const packet_fn& /*take*/) {}
    // The live settings that have another value now than they were given: one that held for some
    // time which is over, the network of a terminal that has moved by itself.
    struct moved_setting {
        std::string key, value;
    };
    virtual std::vector<moved_setting> moved_settings(std::int64_t /*now_ns*/) { return {}; }
};

std::unique_ptr<link_pair> make_umts_links(const emulator_config& config);
std::unique_ptr<link_pair> make_hetnet_path(const emulator_config& config);
std::unique_ptr<link_pair> make_trace_path(const emulator_config& config);
std::unique_ptr<link_pair> make_wlan_path(const emulator_config& config);

// By link.kind, which is not ofdm.
std::unique_ptr<link_pair> make_links(const emulator_config& config);

class packet_path {
public:
    virtual ~packet_path() = default;
    virtual packet_link& downlink() = 0;
    virtual packet_link& uplink() = 0;
    // Loads the code of the user's own that the configuration names, before the first slot, with
    // the rights that the process has then. Throws bad_input. What has none does nothing.
    virtual void load_rules(const emulator_config& /*config*/) {}
    // Fills an empty status with the counts of either end, except the interfaces' part.
    virtual void fill_base(openwip::control::MacStatus& status) const = 0;
    virtual void fill_terminal(openwip::control::MacStatus& status) const = 0;
};

// By link.kind.
std::unique_ptr<packet_path> make_path(const emulator_config& config);

// As of this slot, each user's, too: rates are made of the difference of two.
void stamp(openwip::control::MacStatus& status, std::int64_t slot);

// A direction at the end that sends, and at the other one: what the link delivered came in there.
void fill_sender(const link_sums& link, openwip::control::Direction& d);
void fill_receiver(const link_sums& link, openwip::control::Direction& d);

}  // namespace wip::emulator
