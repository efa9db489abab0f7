// SPDX-License-Identifier: GPL-3.0-or-later
#include "packet/uplink_link.h"

#include <algorithm>

#include "queue/packet_queue.h"
#include "types/slot_time.h"

namespace wip {

bool uplink_link::offer(std::span<const std::uint8_t> packet, std::int64_t now_ns, int tag) {
    if (!started_) advance(now_ns);  // the line was idle until now
    run_line(slot_at_ns(now_ns) - slot_count(1));
    return line_.on_sdu(packet, slot_at_ns(now_ns), tag, now_ns);
}

// Carries out all slots of the line up to this one.
void uplink_link::run_line(slot done) {
    if (!started_ || done > last_slot_) {
        for (auto& p : line_.on_slot(done)) {
            on_the_way_count_.add(p.data.size());
            if (!on_the_way_.empty()) p.arrival = std::max(p.arrival, on_the_way_.back().arrival);
            on_the_way_.push_back(std::move(p));
        }
        started_ = true;
        last_slot_ = done;
    }
}

// At the start of slot k the line has finished slot k - 1.
void uplink_link::advance(std::int64_t now_ns) {
    run_line(slot_at_ns(now_ns) - slot_count(1));
    while (!on_the_way_.empty() && slot_start_ns(on_the_way_.front().arrival) <= now_ns) {
        const auto& p = on_the_way_.front();
        hand_over({p.data, p.tag, p.offered_ns, slot_start_ns(p.arrival)});
        on_the_way_count_.take(p.data.size());
        on_the_way_.pop_front();
    }
}

std::int64_t uplink_link::next_wakeup() const {
    std::int64_t next = never;
    if (!on_the_way_.empty()) next = slot_start_ns(on_the_way_.front().arrival);
    // Nothing that is on the line now can arrive before the line's next slot is done.
    if (line().queued.packets > 0) next = std::min(next, slot_start_ns(last_slot_ + slot_count(2)));
    return next;
}

link_sums uplink_link::sums() const {
    const auto& s = line();
    return {s.in,
            s.delivered - on_the_way_count_,
            s.queued + on_the_way_count_,
            {{"queue_full", s.dropped_queue_full},
             {managed_drop, s.dropped_queue_managed},
             {"uplink_loss", s.dropped_lost},
             {"not_ip", s.dropped_not_ip}},
            s.marked};
}

}  // namespace wip
