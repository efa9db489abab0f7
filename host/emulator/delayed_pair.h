// SPDX-License-Identifier: GPL-3.0-or-later
// Any link with delay injection at the server's interface: before its downlink the acknowledgements
// of the terminals' data pass, behind its uplink those of the server's.
#pragma once

#include <algorithm>
#include <cstdint>

#include "emulator/emulator_config.h"
#include "port/link_chain.h"
#include "relay/delay_injection.h"

namespace wip::emulator {

class delayed_pair {
public:
    // Neither link has another user.
    delayed_pair(const emulator_config& c, packet_link& down, packet_link& up)
        : at_downlink_(c.delay_down),
          at_uplink_(c.delay_up),
          down_(at_downlink_, down),
          up_(up, at_uplink_) {}

    packet_link& downlink() { return down_; }
    packet_link& uplink() { return up_; }
    const packet_link& downlink() const { return down_; }
    const packet_link& uplink() const { return up_; }
    void advance(std::int64_t now_ns) {
        down_.advance(now_ns);
        up_.advance(now_ns);
    }
    std::int64_t next_wakeup() const { return std::min(down_.next_wakeup(), up_.next_wakeup()); }

    // Sends held packets on their way: up into the interface, down into the link.
    void flush(std::int64_t now_ns) {
        at_downlink_.flush(now_ns);
        at_uplink_.flush(now_ns);
        advance(now_ns);
    }

    const delay_injection& at_downlink() const { return at_downlink_; }
    const delay_injection& at_uplink() const { return at_uplink_; }
    void apply(const emulator_config& wanted, std::int64_t now_ns) {
        at_downlink_.reconfigure(wanted.delay_down, now_ns);
        at_uplink_.reconfigure(wanted.delay_up, now_ns);
    }

private:
    delay_injection at_downlink_, at_uplink_;
    link_chain down_, up_;
};

}  // namespace wip::emulator
