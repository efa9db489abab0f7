// SPDX-License-Identifier: GPL-3.0-or-later
// Following the packets allocates nothing once the link is in its steady state, and nothing at all
// when nobody asked: every operator new of the process is counted, with and without it.
#include <gtest/gtest.h>

#include "counting_allocator.h"
#include "link/base_station_mac.h"
#include "link/terminal_mac.h"
#include "packets.h"
#include "types/slot_time.h"

namespace {

using namespace wip;
using wip::test::allocations;

struct counts {
    long steady = 0;
    std::uint64_t records = 0, wrong = 0;
};

// A cell with full queues and every seventh frame lost.
counts run(bool follow) {
    link_config c;
    c.bins = 25;
    c.modulation = 6;
    counts out;
    base_station_mac base(c);
    terminal_mac terminal(c, [](std::span<const std::uint8_t>, bool) {});
    delivery_log reports(4096);
    packet_journal journal([&](const packet_record& r) {
        ++out.records;
        if (r.parts.sum() != r.left_ns - r.arrived_ns) ++out.wrong;
    });
    if (follow) {
        terminal.report_to(&reports);
        base.follow_packets(&journal);
    }
    const auto packet = test::ipv4(700);
    std::uint64_t sent = 0;
    for (std::int64_t s = 0; s < 4000; ++s) {
        const long before = allocations;
        journal.set_now(slot_start_ns(slot(s)));
        while (base.on_sdu(packet, slot(s))) {
        }
        slot_plan plan = base.plan(slot(s));
        slot_report r;
        r.air = plan.air;
        r.locked = r.grant_ok = true;
        r.grant = plan.grant;
        r.predicted_snr_db.fill(30.0F);
        for (std::size_t b = 0; b < nof_bins; ++b) {
            if (plan.grant.bins[b].bits_per_symbol == 0) continue;
            r.outcome[b] = ++sent % 7 == 0 ? frame_outcome::bad : frame_outcome::good;
            r.payload[b] = std::move(plan.payload[b]);
        }
        base.on_feedback(terminal.on_slot(r));
        if (follow) {
            journal.on_reports(reports.reports(), reports.count(), terminal.decided_before(),
                               slot(s));
            reports.clear();
        }
        if (s >= 2000) out.steady += allocations - before;
    }
    return out;
}

TEST(PacketJournalAllocation, FollowingAllocatesNothingInTheSteadyState) {
    const counts off = run(false), on = run(true);
    EXPECT_EQ(off.records, 0U);
    EXPECT_GT(on.records, 5000U);
    EXPECT_EQ(on.wrong, 0U);
    EXPECT_EQ(on.steady, off.steady);
}

}  // namespace
