// SPDX-License-Identifier: GPL-3.0-or-later
// Both directions in virtual time: the downlink, and an emulated uplink that carries the feedback
// and the terminal's packets with the timing that macd keeps. Several cells run in one loop, as
// independent as they are on the air.
#include <gtest/gtest.h>

#include <deque>
#include <memory>
#include <set>

#include "link/base_station_mac.h"
#include "link/terminal_mac.h"
#include "packet/emulated_uplink.h"
#include "traffic.h"

namespace wip::sim {
namespace {

struct cell_config {
    link_config link;
    uplink_config uplink;
    double frame_error = 0.1;
    std::uint64_t seed = 1;
};

// Terminal echoes every packet that arrives.
class echo_cell {
public:
    explicit echo_cell(const cell_config& c)
        : config_(c),
          random_(c.seed),
          base_(c.link),
          terminal_(c.link,
                    [this](std::span<const std::uint8_t> p, bool) {
                        echoes_.push_back({p.begin(), p.end()});
                    }),
          uplink_(c.uplink) {}

    void send(std::uint32_t number, int bytes) {
        if (base_.on_sdu(make_packet(number, {4, bytes}), slot(now_))) sent_.insert(number);
    }
    void step() {
        // The packets that have arrived at the start of this slot.
        while (!arrivals_.empty() && arrivals_.front().arrival.value <= now_) {
            const auto number = packet_number(arrivals_.front().data);
            ASSERT_TRUE(number);
            ASSERT_TRUE(sent_.contains(*number)) << "an echo of what was not sent";
            ASSERT_TRUE(back_.emplace(*number).second) << "an echo twice";
            last_echo_ = now_;
            arrivals_.pop_front();
        }
        // Feedback of slot j is signalled in j + 1: here from slot j + 2 on.
        while (!feedback_.empty() && feedback_.front().air.value + 2 <= now_) {
            base_.on_feedback(feedback_.front());
            feedback_.pop_front();
        }
        slot_plan plan = base_.plan(slot(now_));
        slot_report r;
        r.air = plan.air;
        r.locked = r.grant_ok = true;
        r.grant = plan.grant;
        r.predicted_snr_db.fill(22.0F);
        for (std::size_t b = 0; b < nof_bins; ++b) {
            if (plan.grant.bins[b].bits_per_symbol == 0) continue;
            r.outcome[b] =
                random_.hits(config_.frame_error) ? frame_outcome::bad : frame_outcome::good;
            r.payload[b] = std::move(plan.payload[b]);
        }
        const slot_feedback f = terminal_.on_slot(r);
        if (!uplink_.feedback_lost()) feedback_.push_back(f);
        for (const auto& e : echoes_) uplink_.on_sdu(e, slot(now_));
        echoes_.clear();
        for (auto& p : uplink_.on_slot(slot(now_))) arrivals_.push_back(std::move(p));
        check();
        ++now_;
    }
    void check() const {
        const auto& b = base_.statistics();
        ASSERT_EQ(b.in.packets, b.queued.packets + b.sent.packets + b.dropped_queue_full.packets +
                                    b.dropped_not_ip.packets + b.dropped_retransmissions.packets);
        const auto& u = uplink_.statistics();
        ASSERT_EQ(u.in.packets, u.delivered.packets + u.queued.packets +
                                    u.dropped_queue_full.packets + u.dropped_lost.packets);
        ASSERT_EQ(u.in.bytes, u.delivered.bytes + u.queued.bytes + u.dropped_queue_full.bytes +
                                  u.dropped_lost.bytes);
        ASSERT_EQ(u.in.packets, terminal_.statistics().delivered.packets);
    }

    cell_config config_;
    random_source random_;
    base_station_mac base_;
    terminal_mac terminal_;
    emulated_uplink uplink_;
    std::int64_t now_ = 150, last_echo_ = -1;
    std::vector<std::vector<std::uint8_t>> echoes_;
    std::deque<uplink_packet> arrivals_;
    std::deque<slot_feedback> feedback_;
    std::set<std::uint32_t> sent_, back_;
};

TEST(TwoWayCell, APingOverTheIdleLinkTakesTwoSlotsAndItsTimeOnTheLine) {
    cell_config c;
    c.frame_error = 0;
    c.uplink.kbps = 480;  // 40 bytes a slot
    echo_cell cell(c);
    for (int i = 0; i < 10; ++i) cell.step();
    for (const auto& [bytes, line] : {std::pair{64, 2}, {84, 3}, {40 * 5 - 1, 5}}) {
        const std::int64_t start = cell.now_;
        cell.send(static_cast<std::uint32_t>(start), bytes);
        for (int i = 0; i < 20; ++i) cell.step();
        // Sent and received in slot `start`, on the line start .. start + line - 1, there 2 later.
        EXPECT_EQ(cell.last_echo_ - start, line - 1 + 2);
    }
}

TEST(TwoWayCell, ThreeCellsAtOnceEchoEverythingThatTheUplinkDoesNotLose) {
    std::vector<std::unique_ptr<echo_cell>> cells;
    for (std::uint64_t i = 0; i < 3; ++i) {
        cell_config c;
        c.link.bins = 5 + static_cast<int>(i) * 10;
        c.link.in_order = i != 1;
        c.link.retransmission_delay_slots = 3 + static_cast<int>(i);
        c.frame_error = 0.1 * static_cast<double>(i);
        c.uplink.loss = i == 2 ? 0.05 : 0;
        c.uplink.feedback_loss = 0.02 * static_cast<double>(i);
        c.uplink.kbps = 2000;
        c.uplink.queue_packets = 100000;
        c.seed = i + 1;
        cells.push_back(std::make_unique<echo_cell>(c));
    }
    random_source dice(5);
    std::uint32_t number = 1;
    for (int i = 0; i < 6000; ++i)
        for (auto& cell : cells) {
            if (i < 5000 && dice.hits(0.1)) cell->send(number++, 48 + dice.up_to(1000));
            ASSERT_NO_FATAL_FAILURE(cell->step());
        }
    for (auto& cell : cells) {
        EXPECT_TRUE(cell->base_.idle());
        EXPECT_GT(cell->sent_.size(), 400U);
        EXPECT_EQ(cell->back_.size() + cell->uplink_.statistics().dropped_lost.packets,
                  cell->sent_.size());
        EXPECT_EQ(cell->uplink_.statistics().feedback.packets, 6000U);
        EXPECT_EQ(cell->base_.statistics().feedback_rejected, 0U);
    }
    EXPECT_GT(cells[2]->uplink_.statistics().dropped_lost.packets, 5U);
    EXPECT_GT(cells[2]->base_.statistics().feedback_missing, 10U);
}

}  // namespace
}  // namespace wip::sim
