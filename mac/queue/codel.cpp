// SPDX-License-Identifier: GPL-3.0-or-later
#include "queue/codel.h"

#include <cmath>

namespace wip {
namespace {

// A dropping state that begins within this time after the last one continues with its drop rate
// (RFC 8289, section 5.5).
constexpr std::int64_t same_state_ns = 16 * codel_interval_ns;

}  // namespace

std::int64_t codel_fifo::control_law(std::int64_t from_ns) const {
    return from_ns + std::llround(static_cast<double>(codel_interval_ns) / std::sqrt(count_));
}

bool codel_fifo::take(std::int64_t now_ns, queued_packet& out, const drain_rate& rate) {
    above_ = false;
    if (fifo_.empty()) {
        first_above_ns_ = 0;
        return false;
    }
    out = fifo_.pop();
    const std::int64_t delay = rate.delay_ns(now_ns - out.arrived_ns, fifo_.bytes());
    if (delay < target_ns_ || fifo_.bytes() <= largest_) {
        first_above_ns_ = 0;
    } else if (first_above_ns_ == 0) {
        first_above_ns_ = now_ns + codel_interval_ns;
    } else {
        above_ = now_ns >= first_above_ns_;
    }
    return true;
}

// Marks the packet, or drops it if its sender does not react to marks. Returns whether it was
// dropped.
bool codel_fifo::signal(queued_packet& packet, const std::function<void(queued_packet&&)>& drop) {
    if (packet.mark()) return false;
    drop(std::move(packet));
    return true;
}

bool codel_fifo::pop(std::int64_t now_ns, queued_packet& out, const drain_rate& rate,
                     const std::function<void(queued_packet&&)>& drop) {
    if (!take(now_ns, out, rate)) {
        dropping_ = false;
        return false;
    }
    if (dropping_) {
        if (!above_) dropping_ = false;
        while (dropping_ && now_ns >= next_ns_) {
            ++count_;
            if (!signal(out, drop)) {
                next_ns_ = control_law(next_ns_);
                return true;
            }
            const bool any = take(now_ns, out, rate);
            if (!above_)
                dropping_ = false;
            else
                next_ns_ = control_law(next_ns_);
            if (!any) return false;
        }
        return true;
    }
    if (!above_) return true;
    const bool gone = signal(out, drop);
    const bool any = !gone || take(now_ns, out, rate);
    dropping_ = true;
    const std::uint32_t delta = count_ - last_count_;
    count_ = delta > 1 && now_ns - next_ns_ < same_state_ns ? delta : 1;
    last_count_ = count_;
    next_ns_ = control_law(now_ns);
    return any;
}

void codel::push(queued_packet&& packet, std::int64_t, std::size_t room) {
    if (packets() >= room)
        drop(std::move(packet), queue_drop::full);
    else
        queue_.push(std::move(packet));
}

}  // namespace wip
