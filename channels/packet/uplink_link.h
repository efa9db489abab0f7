// SPDX-License-Identifier: GPL-3.0-or-later
// The emulated uplink as one packet link: the line at the terminal (emulated_uplink.h) and the
// packets that have left it but not arrived yet. A packet that is offered in a slot may be sent in
// that slot; packets arrive at the start of a slot, in the order in which they were offered, also
// when the delay is made shorter meanwhile.
#pragma once

#include <deque>

#include "packet/emulated_uplink.h"
#include "port/packet_link.h"

namespace wip {

class uplink_link final : public packet_link {
public:
    explicit uplink_link(const uplink_config& config) : line_(config) {}

    bool offer(std::span<const std::uint8_t> packet, std::int64_t now_ns, int tag = 0) override;
    void advance(std::int64_t now_ns) override;
    std::int64_t next_wakeup() const override;
    link_sums sums() const override;
    bool idle() const override { return on_the_way_.empty() && line().queued.packets == 0; }

    bool feedback_lost() { return line_.feedback_lost(); }
    void reconfigure(const uplink_config& config) { line_.reconfigure(config); }

    const uplink_statistics& line() const { return line_.statistics(); }
    const packets_bytes& on_the_way() const { return on_the_way_count_; }

private:
    void run_line(slot done);

    emulated_uplink line_;
    std::deque<uplink_packet> on_the_way_;  // by arrival
    packets_bytes on_the_way_count_;
    bool started_ = false;
    slot last_slot_;  // last slot that the line has finished
};

}  // namespace wip
