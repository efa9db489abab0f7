// SPDX-License-Identifier: GPL-3.0-or-later
// The MAC of both ends in its steady state: a plan into the buffers of the last one, and the report
// of a slot, take hardly any memory. Every operator new of the process is counted.
#include <gtest/gtest.h>

#include "counting_allocator.h"
#include "link/base_station_mac.h"
#include "link/terminal_mac.h"
#include "packets.h"

namespace {

using namespace wip;
using wip::test::allocations;

struct counts {
    long plan = 0, report = 0, queue = 0;
    int slots = 0;
};

// A cell with full queues, in which every `lost`th frame fails (0: none).
counts run(std::uint64_t lost) {
    constexpr std::int64_t settled = 2000, end = 4000;
    link_config c;
    c.bins = nof_bins;
    c.modulation = 8;
    base_station_mac base(c);
    terminal_mac terminal(c, [](std::span<const std::uint8_t>, bool) {});
    const auto packet = test::ipv4(1400);
    slot_plan plan;
    slot_report r;
    counts out;
    std::uint64_t sent = 0;
    for (std::int64_t s = 0; s < end; ++s) {
        const long begin = allocations;
        while (base.on_sdu(packet, slot(s))) {
        }
        const long queued = allocations;
        base.plan(slot(s), plan);
        const long planned = allocations;
        r.air = plan.air;
        r.locked = r.grant_ok = true;
        r.grant = plan.grant;
        r.predicted_snr_db.fill(30.0F);
        r.outcome.fill(frame_outcome::unused);
        for (std::size_t b = 0; b < nof_bins; ++b) {
            if (plan.grant.bins[b].bits_per_symbol == 0) continue;
            const bool fails = lost != 0 && ++sent % lost == 0;
            r.outcome[b] = fails ? frame_outcome::bad : frame_outcome::good;
            r.payload[b] = plan.payload[b];
        }
        const long received = allocations;
        base.on_feedback(terminal.on_slot(r));
        if (s < settled) continue;
        out.queue += queued - begin;
        out.plan += planned - queued;
        out.report += allocations - received;
        ++out.slots;
    }
    return out;
}

packed_grant packed(const slot_grant& grant) {
    packed_grant out{};
    EXPECT_TRUE(pack_grant(grant, link_profile::radio, out));
    return out;
}

// A node of a queue of packets (std::deque) is left, which holds a few packets: an allocation in
// several slots, where a new plan alone takes one for each bin.
TEST(MacAllocation, ASlotAllocatesNodesOfQueuesOnly) {
    for (const std::uint64_t lost : {0, 7}) {
        const counts n = run(lost);
        EXPECT_LT(n.plan, n.slots / 10);
        EXPECT_LT(n.report, n.slots / 4);
        EXPECT_LT(n.queue, n.slots / 3);
    }
}

TEST(MacAllocation, APlanIntoUsedBuffersIsThatOfANewOne) {
    link_config c;
    c.bins = nof_bins;
    base_station_mac one(c), other(c);
    const auto packet = test::ipv4(1400);
    slot_plan reused;
    for (std::int64_t s = 0; s < 50; ++s) {
        for (int i = 0; i < static_cast<int>(s % 4); ++i) {
            one.on_sdu(packet, slot(s));
            other.on_sdu(packet, slot(s));
        }
        slot_feedback f;
        f.air = slot(s - 1);
        f.locked = f.grant_ok = true;
        f.ack = s % 3 == 0 ? 0x1555555U : 0x1FFFFFFU;
        f.predicted_snr_db.fill(s % 2 == 0 ? 30.0F : 8.0F);
        one.on_feedback(f);
        other.on_feedback(f);
        one.plan(slot(s), reused);
        const slot_plan fresh = other.plan(slot(s));
        EXPECT_EQ(reused.air, fresh.air);
        EXPECT_EQ(reused.payload, fresh.payload);
        EXPECT_EQ(packed(reused.grant), packed(fresh.grant));
    }
}

}  // namespace
