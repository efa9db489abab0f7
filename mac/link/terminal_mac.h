// SPDX-License-Identifier: GPL-3.0-or-later
// The terminal's side of the downlink MAC: reassembly, delivery and feedback.
//
//   on_slot(report)    the receiver's report of one slot; returns the feedback to send. Packets
//                      that became complete are handed to `deliver` before it returns
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "link/feedback.h"
#include "link/link_config.h"
#include "link/link_statistics.h"
#include "port/link_port.h"
#include "rlc/delivery_log.h"

namespace wip {

class terminal_mac {
public:
    // `deliver` gets each IP packet; `damaged` says that it holds bit errors (deliver_corrupt).
    using deliver_fn = std::function<void(std::span<const std::uint8_t> packet, bool damaged)>;

    terminal_mac(const link_config& config, deliver_fn deliver);
    ~terminal_mac();
    terminal_mac(terminal_mac&&) noexcept;
    terminal_mac& operator=(terminal_mac&&) noexcept;

    slot_feedback on_slot(const slot_report& report);
    const terminal_statistics& statistics() const;

    // Sets the log to which packets are written as they are delivered (rlc/delivery_log.h), from
    // which their delays are computed; nullptr: no log is kept.
    void report_to(delivery_log* log);
    // Packets that start in a frame before this one have been delivered or are lost.
    wire_sn decided_before() const;

private:
    struct state;
    std::unique_ptr<state> state_;
};

}  // namespace wip
