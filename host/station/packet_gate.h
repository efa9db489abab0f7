// SPDX-License-Identifier: GPL-3.0-or-later
// The TUN with its part of the conservation sums: every packet that the interface gave or was given
// is counted, and so is everything that the kernel refused or dropped, by reason. A terminal's may
// hold the relay that makes damaged TCP segments acceptable to the host (relay/tcpl_recovery.h).
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "link/link_statistics.h"
#include "relay/tcpl_recovery.h"
#include "schema/control.pb.h"
#include "tun/tun_device.h"

namespace wip::host {

inline void set(openwip::control::PacketsBytes& out, const packets_bytes& in) {
    out.set_packets(in.packets);
    out.set_bytes(in.bytes);
}
inline void add_drop(openwip::control::Direction& d, const std::string& reason,
                     const packets_bytes& count) {
    if (count.packets == 0) return;
    auto& drop = *d.add_dropped();
    drop.set_reason(reason);
    set(*drop.mutable_count(), count);
}

// Adds packets that were dropped before anything else counted them.
void add_refused(openwip::control::Direction& d, const std::string& reason,
                 const packets_bytes& count);

// Adds the decisions of a relay.
void add_relay(const tcpl::tcpl_recovery& relay, openwip::control::TerminalLink& t);

class packet_gate {
public:
    explicit packet_gate(tun_device& tun) : tun_(&tun) {}

    // From now on damaged TCP segments of known connections are repaired before they are written.
    void take_damaged_tcp() { relay_.emplace(); }

    // Hands each waiting packet to `take`, in order, at most `limit` of them so that a flood from a
    // local application cannot keep the slots waiting. False when the interface is gone.
    template <class Take>
    bool read_all(Take&& take, int limit = 256) {
        for (int i = 0; i < limit; ++i) {
            const int n = tun_->read(buffer_);
            if (n == 0) return true;
            if (n < 0) return on_read_error(-n);
            const std::span<const std::uint8_t> packet(buffer_.data(), static_cast<std::size_t>(n));
            if (relay_) relay_->on_outgoing(packet);
            take(packet);
        }
        return true;
    }
    // Counts as delivered, or as dropped with the kernel's reason; 0 or that errno.
    int write(std::span<const std::uint8_t> packet);

    const packets_bytes& delivered() const { return delivered_; }
    // Adds kernel drops on the way in: they count as offered and dropped.
    void add_input(openwip::control::Direction& d) const;
    // Adds refused writes to the dropped packets.
    void add_write_errors(openwip::control::Direction& d) const;
    // Adds the decisions of the relay.
    void add_relay(openwip::control::TerminalLink& t) const;

private:
    // Counts the error; false: the interface was deleted.
    bool on_read_error(int code);

    tun_device* tun_;
    std::array<std::uint8_t, 65536> buffer_{};
    packets_bytes delivered_;
    std::map<int, packets_bytes> write_errors_;
    std::uint64_t read_errors_ = 0;
    std::optional<tcpl::tcpl_recovery> relay_;
    std::vector<std::uint8_t> repaired_;  // the packet that the relay works on
};

}  // namespace wip::host
