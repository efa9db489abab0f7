// SPDX-License-Identifier: GPL-3.0-or-later
// The path of the packets between the server and the terminals, and its status: a packet_path from
// interface to interface, delay injection with it, which is the OFDM cell's or has a link_pair in
// it (delayed_path.h). A further kind of link is a link_pair, its value of link.kind, and its name
// and file in CMakeLists.txt.
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
#include "relay/snoop.h"
#include "schema/control.pb.h"

namespace wip::emulator {

// Slots between two reports of a link, exactly 10 ms.
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
    // Applies live settings from now on; those of other kinds of link are ignored.
    virtual void apply(const emulator_config& wanted, std::int64_t now_ns) = 0;
    // Reports each PDU that is sent, as a packet that Wireshark reads. A link without PDUs reports
    // none.
    using pdu_fn = std::function<void(bool downlink, int user, std::span<const std::uint8_t> packet,
                                      std::int64_t sent_ns, bool lost)>;
    virtual void watch_pdus(const pdu_fn& /*watch*/) {}
    // Reports the delay record of each packet, of both directions or of the downlink; an empty
    // function ends that. A link may have no journal of packets.
    using packet_fn = std::function<void(const packet_record&, int user)>;
    virtual void follow_packets(const packet_fn& /*take*/) {}
    // The Snoop agent, nullptr where there is none. Copies that it sends again are not part of `in`
    // in the sums of a chain of links that begins before it.
    virtual const snoop* agent() const { return nullptr; }
    // The live settings whose value has changed by itself: one that held for a limited time which
    // is over, or the network of a terminal that has moved.
    struct moved_setting {
        std::string key, value;
    };
    virtual std::vector<moved_setting> moved_settings(std::int64_t /*now_ns*/) { return {}; }
};

// Links with a Snoop agent before the downlink of `links`, and behind its uplink.
std::unique_ptr<link_pair> with_snoop(std::unique_ptr<link_pair> links, const snoop_config& config);

// Makes the links for link.kind, which is not ofdm, with the function make_KIND_links() that the
// file of that kind has.
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

// Makes the path for link.kind.
std::unique_ptr<packet_path> make_path(const emulator_config& config);

// Sets the slot in a status and in the parts of each user, since rates are computed from the
// difference of two statuses.
void stamp(openwip::control::MacStatus& status, std::int64_t slot);

// A direction of the link in the status of the end that sends, and of the one that receives.
void fill_sender(const link_sums& link, openwip::control::Direction& d);
void fill_receiver(const link_sums& link, openwip::control::Direction& d);

}  // namespace wip::emulator
