// SPDX-License-Identifier: GPL-3.0-or-later
#include "dry_cell.h"

#include <stdexcept>
#include <string>

namespace wip::sim {

void check_dry(cell_world& w) {
    const auto& b = w.base_statistics_now();
    const auto& t = w.terminal_statistics_now();
    const auto expect = [](bool holds, const char* what) {
        if (!holds) throw std::logic_error(std::string("nothing on its way, but ") + what);
    };
    expect(b.queued.packets == 0 && b.queued.bytes == 0, "packets are queued");
    expect(w.oracle().undelivered() == -1, "a packet that was acknowledged has not come");
    if (b.frames_dropped == 0) {
        expect(b.sent.packets == w.intact(), "packets sent are not those delivered");
        expect(b.sent.bytes == t.delivered.bytes, "bytes sent are not those delivered");
        expect(t.dropped_lost_frame.packets == 0, "packets were lost");
        expect(t.resynchronised == 0, "a packet boundary was lost");
    } else {
        if (w.intact() < b.sent.packets)
            throw std::logic_error(std::to_string(b.sent.packets - w.intact()) +
                                   " packets acknowledged were not delivered");
        expect(t.delivered.packets + t.dropped_lost_frame.packets <=
                   b.sent.packets + b.dropped_retransmissions.packets,
               "more packets came to an end than were sent");
    }
}

// The queue may hold more than a cell of one bin carries in minutes.
void run_dry(cell_world& w) {
    const std::int64_t queued = 8 * static_cast<std::int64_t>(w.base_statistics_now().queued.bytes);
    if (!w.drain(200000 + 4 * queued / frame_payload_bits(link_profile::radio, 1)))
        throw std::logic_error("the cell does not run dry");
}

}  // namespace wip::sim
