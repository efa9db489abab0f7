// SPDX-License-Identifier: GPL-3.0-or-later
// One end of the link as a set of event handlers, without sockets, threads or clocks: the base
// station and the terminal implement it, the event loop (macd.h) or a test drives it. All time is
// slots, and they come in with the messages.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "config/schema.h"
#include "runtime/stop_reason.h"
#include "runtime/telemetry_port.h"
#include "schema/control.pb.h"
#include "schema/slot_link.pb.h"
#include "schema/uplink.pb.h"
#include "types/quantity.h"

namespace wip::host {

// The party for which the station would be waiting if nothing happened now. Only its silence means
// anything: in lockstep all others are silent because of it.
enum class party : std::uint8_t { nobody, flowgraph, peer };

// The services that a station needs from outside. The references given to it are read before the
// call returns.
class station_port {
public:
    virtual ~station_port() = default;
    virtual void to_flowgraph(const openwip::slot_link::ToFlowgraph& message) = 0;
    // False when the message could not be queued.
    virtual bool to_peer(const google::protobuf::MessageLite& message) = 0;
    // A message that was dropped; counted, and logged from time to time.
    virtual void malformed(const char* socket, const char* why) = 0;
    // The terminal said goodbye over the uplink.
    virtual void peer_ends(stop_cause cause, const std::string& why) = 0;
    // The base station has sent the settings that both ends need the same.
    virtual void peer_format(const std::vector<std::string>& lines) = 0;
    virtual telemetry_port& telemetry() = 0;
    // Everything of one slot is done, its telemetry too.
    virtual void slot_done(slot now) = 0;
};

class station {
public:
    virtual ~station() = default;
    virtual void on_request(const openwip::slot_link::SlotRequest& request) = 0;
    virtual void on_report(const openwip::slot_link::SlotReport& report) = 0;
    virtual void on_peer(std::span<const std::uint8_t> message) = 0;
    // Called when all messages that have come over the slot link so far have been handed over.
    virtual void caught_up() {}
    // Called when a peer connects, also one that comes back. It knows nothing of what was sent
    // before.
    virtual void peer_came() {}
    // Packets may be waiting in the TUN. Returns false when the interface is gone.
    virtual bool on_tun() = 0;
    // False when a read of any slot has found that the interface is gone.
    virtual bool tun_alive() const = 0;

    // Loads code of the user's own that the configuration names, before the first message, with the
    // rights that the process has then. Throws bad_input.
    virtual void load_rules() {}

    // The first slot that a change made now has an effect on.
    virtual slot next_slot() const = 0;

    virtual party waits_for() const = 0;
    // The flowgraph's next message, if it is the one that is due, would have to wait for the peer.
    virtual bool flowgraph_can_wait() const = 0;
    virtual void fill(openwip::control::MacStatus& status) const = 0;
    virtual void reset_counters() = 0;
    // Publishes the records that wait for their batch to be full: perhaps no slot comes any more.
    virtual void flush_telemetry() = 0;
    // `next` differs from the present settings in `changed` only. Throws config::error or
    // std::invalid_argument, and nothing has changed then.
    virtual void reconfigure(config::settings& next, const std::vector<std::string>& changed) = 0;
    // The last word to the peer.
    virtual void say_goodbye(const stop_reason& why) = 0;
};

}  // namespace wip::host
