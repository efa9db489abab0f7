// SPDX-License-Identifier: GPL-3.0-or-later
// A cell of two users in its steady state allocates nothing for packets and PDUs: every operator
// new of the process is counted.
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "counting_allocator.h"
#include "umts/cell.h"

namespace wip::umts {
namespace {

constexpr std::int64_t ms = 1'000'000;

// Full queues downwards, a packet each way every 40 ms upwards, one block in ten lost.
long steady(discard_mode discard, bool in_sequence) {
    bearer_config b;
    b.errors_down.rate = b.errors_up.rate = 0.1;
    b.rlc.discard = discard;
    b.rlc.max_dat = 2;
    b.rlc.discard_ns = 2'000 * ms;
    b.rlc.in_sequence = in_sequence;
    cell c(b, {.users = 2, .kbps = 500, .users_db = {0, -3}, .classes = {}});
    const std::vector<std::uint8_t> large(1500, 0x45), small(40, 0x45);
    long before = 0;
    for (std::int64_t t = 0; t < 120'000 * ms; t += 5 * ms) {
        if (t == 60'000 * ms) before = test::allocations;
        for (int u = 0; u < 2; ++u) {
            // The sums have a list of reasons, which is not counted: it is nobody's PDU.
            if (t % (30 * ms) == 0) c.downlink().offer(large, t, u);
            if (t % (40 * ms) == 0) c.uplink().offer(small, t, u);
        }
        c.advance(t);
    }
    const long allocated = test::allocations - before;
    EXPECT_GT(c.user(0).sender(bearer::way::down).counts().retransmissions, 1000U);
    EXPECT_GT(c.downlink().sums().delivered.packets, 2000U);
    return allocated;
}

TEST(Allocation, NoneForAPduInTheSteadyState) {
    EXPECT_EQ(steady(discard_mode::never, true), 0);
    EXPECT_EQ(steady(discard_mode::never, false), 0);
    EXPECT_EQ(steady(discard_mode::after_max_dat, true), 0);
}

}  // namespace
}  // namespace wip::umts
