// SPDX-License-Identifier: GPL-3.0-or-later
// Window of the acknowledged RLC: as a peer grants it, and why more than half of the numbers is
// refused (docs/explanation/umts.md).
#include <gtest/gtest.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "rlc_world.h"

namespace wip::umts {
namespace {

TEST(Window, ThePeerMayMakeItSmaller) {
    am_config c;
    rlc_world w(c, 3, 8);
    w.sides[1].entity->ask_for_window(2);
    w.run(10);
    EXPECT_EQ(w.sides[0].entity->transmitter().window(), 2);
    w.give(0, 400);
    w.run(4);
    EXPECT_EQ(w.sides[0].entity->transmitter().next_sn(), 2);
    w.run(100);
    EXPECT_EQ(w.sides[0].sdus[0].delivered, 1);
}

// A number of 12 bits distinguishes an old PDU from a new one only as long as the window is not
// above half of the numbers. Beyond that, a PDU that comes again, two or more before the window, is
// taken for one ahead: the status says so and the sender resets the link, or, worse, its octets are
// delivered where the number is used next. So `emulate` allows a window of half of the numbers at
// most (docs/explanation/umts.md).
TEST(Window, AnOldPduIsOutsideUpToHalfOfTheNumbersAndTakenForANewOneBeyond) {
    for (const auto& [window, taken] : {std::pair(2047, false), {2048, false}, {4095, true}}) {
        am_config c;
        c.window = window;
        am_transmitter sender(
            c, [](auto, const auto&, auto) {}, [](auto) {});
        am_receiver receiver(c, [](auto, const auto&) {});
        std::vector<std::vector<std::uint8_t>> pdus(4, std::vector<std::uint8_t>(42));
        const std::vector<std::uint8_t> data(39, 7);  // fills a PDU with its LI
        for (auto& pdu : pdus) {
            ASSERT_TRUE(sender.on_sdu(data, 0, 0));
            ASSERT_TRUE(sender.next_pdu(pdu, {}, 0));
            receiver.on_pdu(pdu, 0);
        }
        receiver.on_pdu(pdus[1], 0);
        EXPECT_EQ(receiver.counts().outside, taken ? 0U : 1U) << window;
        EXPECT_EQ(receiver.highest(), taken ? 1 + sn_space + 1 : 4) << window;
    }
}

TEST(Window, AboveHalfOfTheNumbersLossesAlterSdusAndUpToThereNone) {
    for (const auto& [window, alters] : {std::pair(2048, false), {4095, true}}) {
        am_config c;
        c.window = window;
        c.discard = discard_mode::never;
        c.max_dat = 1000;
        c.status_prohibit_ns = 3 * tti_ns;
        c.poll_timer_ns = 10 * tti_ns;
        rlc_world w(c, 2, 40);
        splitmix64 r(1);
        w.lose = [&](int from, const auto&) { return r.next() % 100 < (from == 0 ? 15U : 30U); };
        for (int ttis = 0; ttis < 400; ++ttis) {
            w.give(0, 1400);
            w.give(0, 1400);
            w.step();
        }
        EXPECT_GT(w.sides[1].arrived.size(), 100U);
        EXPECT_EQ(w.altered > 0, alters) << window << ": " << w.altered;
        EXPECT_TRUE(alters || w.unknown == 0);
    }
}

// Nothing is asked for twice while the prohibit is longer than the round trip, and no poll comes
// before its status while the timer is longer than both. A lost status and silence behind it are
// enough nevertheless: the poll repeats a PDU that is there, with others behind it.
TEST(Window, AboveHalfOfTheNumbersALongStatusProhibitDoesNotHelpOnceAStatusIsLost) {
    const auto resets = [](int window, unsigned statuses_lost) {
        std::uint64_t n = 0;
        for (std::uint64_t seed = 1; seed <= 10; ++seed) {
            am_config c;
            c.window = window;
            c.discard = discard_mode::never;
            c.status_prohibit_ns = 8 * tti_ns;  // there and back: 5
            c.poll_timer_ns = 60 * tti_ns;
            rlc_world w(c, 2, 40);
            splitmix64 r(seed);
            w.lose = [&](int from, const auto&) {
                return r.next() % 100 < (from == 0 ? 15U : statuses_lost);
            };
            for (int t = 0; t < 1500; ++t) {
                for (int i = 0; t % 150 < 3 && i < 2; ++i) w.give(0, 1400);
                w.step();
            }
            n += w.sides[0].entity->counts().resets;
        }
        return n;
    };
    EXPECT_EQ(resets(4095, 0), 0U);
    EXPECT_GT(resets(4095, 30), 10U);
    EXPECT_EQ(resets(2048, 30), 0U);
}

}  // namespace
}  // namespace wip::umts
