// SPDX-License-Identifier: GPL-3.0-or-later
// The experiment of Alfredsson 2012, 4.4, without clock or interface: a line of limited rate, a
// delay and residual bit errors between a sender and a receiver, and the relay in the receiver's
// host, where it is switched on.
//
//   sender --> line --> bit errors --> relay --> receiver
//   sender <-- line <----------------- relay <-- receiver
//
// Errors hit the direction of the data. The IP header is spared by default, as a link spares it
// that delivers damaged packets (docs/explanation/mac.md); a host drops a packet with a damaged one
// anyway. Time is nanoseconds of the owner's clock, which never goes back.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "packet/bit_errors.h"
#include "packet/wired_link.h"
#include "relay/tcpl_recovery.h"

namespace wip::tcpl {

struct path_config {
    packet_model::wired_config forward, back;
    packet_model::bit_error_config errors;
    bool spare_ip_header = true;
    bool relay = true;
    recovery_config recovery;
};

class damaged_path {
public:
    enum class side : std::uint8_t { sender, receiver };

    explicit damaged_path(const path_config& config);
    damaged_path(const damaged_path&) = delete;
    damaged_path& operator=(const damaged_path&) = delete;

    void from_sender(std::span<const std::uint8_t> packet, std::int64_t now_ns) {
        forward_.offer(packet, now_ns);
    }
    void from_receiver(std::span<const std::uint8_t> packet, std::int64_t now_ns) {
        if (relay_) relay_->on_outgoing(packet);
        back_.offer(packet, now_ns);
    }

    // Time at which the next packet leaves; no_next when there is none.
    static constexpr std::int64_t no_next = packet_link::never;
    std::int64_t next_due() const { return std::min(forward_.next_wakeup(), back_.next_wakeup()); }
    // Calls write(side, packet, due_ns) for packets that leave from now on.
    template <class Write>
    void deliver_to(Write write) {
        back_.deliver_to([write](const link_packet& p) {
            write(side::sender, p.data, p.due_ns);
            return 0;
        });
        forward_.deliver_to([this, write](const link_packet& p) {
            errors_.deliver(p.data);
            write(side::receiver, std::span<const std::uint8_t>(arrived_), p.due_ns);
            return 0;
        });
    }
    // Hands over what is due by then, each side in order.
    void release(std::int64_t now_ns) {
        back_.advance(now_ns);
        forward_.advance(now_ns);
    }

    const packet_model::wired_statistics& forward() const { return forward_.statistics(); }
    const packet_model::wired_statistics& back() const { return back_.statistics(); }
    const packet_model::bit_error_port::counts& errors() const { return errors_.statistics(); }
    const tcpl_recovery* relay() const { return relay_ ? &*relay_ : nullptr; }

private:
    packet_model::wired_link forward_, back_;
    packet_model::bit_error_port errors_;
    std::optional<tcpl_recovery> relay_;
    std::vector<std::uint8_t> arrived_;
};

}  // namespace wip::tcpl
