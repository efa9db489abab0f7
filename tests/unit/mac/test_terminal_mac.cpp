// SPDX-License-Identifier: GPL-3.0-or-later
#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>

#include "link/base_station_mac.h"
#include "link/terminal_mac.h"
#include "packets.h"
#include "types/splitmix64.h"

namespace wip {
namespace {

// A terminal and hand-made reports: profile wipemu, k = 4 (54 bytes a frame), a packet a frame.
class Terminal {
public:
    explicit Terminal(link_config c = {})
        : mac(with_profile(c), [this](std::span<const std::uint8_t> p, bool) {
              got.push_back({p.begin(), p.end()});
          }) {}
    static link_config with_profile(link_config c) {
        c.profile = link_profile::wipemu;
        return c;
    }
    slot_report idle() {
        slot_report r;
        r.air = slot(now++);
        r.locked = r.grant_ok = true;
        r.grant.first_new_sn = next_sn;
        r.grant.window_edge = static_cast<std::uint16_t>(next_sn - edge);
        return r;
    }
    // New frame of 54 bytes in bin b.
    void add_new(slot_report& r, std::size_t b, const std::vector<std::uint8_t>& bytes,
                 bool good = true) {
        auto& g = r.grant.bins[b];
        g.bits_per_symbol = 4;
        g.sn = next_sn++;
        g.boundary = 0;
        r.outcome[b] = good ? frame_outcome::good : frame_outcome::bad;
        r.payload[b] = bytes;
        r.payload[b].resize(54);
    }
    void add_again(slot_report& r, std::size_t b, wire_sn sn,
                   const std::vector<std::uint8_t>& bytes, bool good = true) {
        auto& g = r.grant.bins[b];
        g.bits_per_symbol = 4;
        g.retransmission = true;
        g.sn = sn;
        r.outcome[b] = good ? frame_outcome::good : frame_outcome::bad;
        r.payload[b] = bytes;
        r.payload[b].resize(54);
    }

    std::int64_t now = 150;
    wire_sn next_sn = 0, edge = 0;
    std::vector<std::vector<std::uint8_t>> got;
    terminal_mac mac;
};

TEST(TerminalMac, ItAcknowledgesWhatItGotAndDeliversBeforeItReturns) {
    Terminal t;
    auto r = t.idle();
    t.add_new(r, 3, test::ipv4(54, 1));
    t.add_new(r, 9, test::ipv4(54, 2), false);
    const auto f = t.mac.on_slot(r);
    EXPECT_TRUE(f.locked);
    EXPECT_TRUE(f.grant_ok);
    EXPECT_EQ(f.air, r.air);
    EXPECT_EQ(f.ack, 1U << 3);
    ASSERT_EQ(t.got.size(), 1U);
    EXPECT_EQ(t.got[0], test::ipv4(54, 1));
    EXPECT_EQ(t.mac.statistics().frames_good, 1U);
    EXPECT_EQ(t.mac.statistics().frames_bad, 1U);
}

TEST(TerminalMac, ABadCopyOfAFrameThatIsThereIsAcknowledgedToo) {
    Terminal t;
    t.mac.on_slot(t.idle());
    auto r = t.idle();
    t.add_new(r, 0, test::ipv4(54, 1), false);
    t.add_new(r, 1, test::ipv4(54, 2));
    EXPECT_EQ(t.mac.on_slot(r).ack, 2U);
    r = t.idle();
    t.add_again(r, 5, 1, test::ipv4(54, 2), false);  // the ACK was lost
    EXPECT_EQ(t.mac.on_slot(r).ack, 1U << 5);
    EXPECT_EQ(t.mac.statistics().frames_bad, 2U);
    r = t.idle();
    t.add_again(r, 6, 0, test::ipv4(54, 1));
    EXPECT_EQ(t.mac.on_slot(r).ack, 1U << 6);
    EXPECT_EQ(t.got.size(), 2U);
    r = t.idle();
    t.add_again(r, 7, 0, test::ipv4(54, 1));
    EXPECT_EQ(t.mac.on_slot(r).ack, 1U << 7);
    EXPECT_EQ(t.mac.statistics().frames_duplicate, 1U);
    EXPECT_EQ(t.got.size(), 2U);
}

TEST(TerminalMac, FramesOfALostPacketAreAcknowledgedOnlyWhenTheyArrive) {
    Terminal t;
    const auto packet = test::ipv4(4 * 54, 1);
    const auto part = [&](std::size_t i) {
        return std::vector<std::uint8_t>(packet.begin() + static_cast<std::ptrdiff_t>(54 * i),
                                         packet.begin() + static_cast<std::ptrdiff_t>(54 * i + 54));
    };
    auto r = t.idle();
    for (std::size_t b = 0; b < 4; ++b) t.add_new(r, b, part(b), false);
    for (std::size_t b = 1; b < 4; ++b) r.grant.bins[b].boundary = no_boundary;
    t.add_new(r, 4, test::ipv4(54, 2));
    EXPECT_EQ(t.mac.on_slot(r).ack, 1U << 4);
    t.edge = 1;  // its first frame is given up: nothing of the others is of use
    EXPECT_EQ(t.mac.on_slot(t.idle()).ack, 0U);
    EXPECT_EQ(t.got.size(), 1U);
    r = t.idle();
    t.add_again(r, 0, 1, part(1), false);
    t.add_again(r, 1, 2, part(2), true);
    EXPECT_EQ(t.mac.on_slot(r).ack, 1U << 1);
    r = t.idle();
    t.add_again(r, 0, 2, part(2), false);
    t.add_again(r, 1, 3, part(3), false);
    EXPECT_EQ(t.mac.on_slot(r).ack, 1U << 0);
}

TEST(TerminalMac, WithoutLockOrGrantNothingIsAcknowledged) {
    Terminal t;
    auto r = t.idle();
    t.add_new(r, 3, test::ipv4(54, 1));
    r.locked = false;
    auto f = t.mac.on_slot(r);
    EXPECT_FALSE(f.locked);
    EXPECT_EQ(f.ack, 0U);
    r.locked = true;
    r.grant_ok = false;
    f = t.mac.on_slot(r);
    EXPECT_TRUE(f.locked);
    EXPECT_FALSE(f.grant_ok);
    EXPECT_EQ(f.ack, 0U);
    EXPECT_EQ(t.mac.statistics().slots, 2U);
    EXPECT_EQ(t.mac.statistics().slots_unlocked, 1U);
    EXPECT_EQ(t.mac.statistics().grants_failed, 1U);
    EXPECT_TRUE(t.got.empty());
}

TEST(TerminalMac, ItReportsThePredictionAsItCame) {
    Terminal t;
    auto r = t.idle();
    for (std::size_t b = 0; b < nof_bins; ++b) r.predicted_snr_db[b] = static_cast<float>(b);
    EXPECT_EQ(t.mac.on_slot(r).predicted_snr_db, r.predicted_snr_db);
}

TEST(TerminalMac, FramesWhoseGrantWasLostArriveLaterAsRetransmissions) {
    Terminal t;
    t.mac.on_slot(t.idle());
    auto lost = t.idle();
    t.add_new(lost, 0, test::ipv4(54, 1));
    lost.grant_ok = false;
    t.mac.on_slot(lost);
    auto r = t.idle();
    t.add_new(r, 0, test::ipv4(54, 2));
    EXPECT_EQ(t.mac.on_slot(r).ack, 1U);
    EXPECT_TRUE(t.got.empty());
    r = t.idle();
    r.grant.runs[0] = {0, 1, 0};  // tells that the first packet begins with frame 0
    t.add_again(r, 8, 0, test::ipv4(54, 1));
    EXPECT_EQ(t.mac.on_slot(r).ack, 1U << 8);
    ASSERT_EQ(t.got.size(), 2U);
    EXPECT_EQ(t.got[0], test::ipv4(54, 1));
}

TEST(TerminalMac, OneImpossibleGrantIsNotBelievedTwoInARowAre) {
    Terminal t;
    t.mac.on_slot(t.idle());
    auto wrong = t.idle();
    wrong.grant.first_new_sn = 30000;  // 25 frames a slot at most
    EXPECT_FALSE(t.mac.on_slot(wrong).grant_ok);
    auto r = t.idle();
    t.add_new(r, 0, test::ipv4(54, 1));
    EXPECT_EQ(t.mac.on_slot(r).ack, 1U);
    EXPECT_EQ(t.got.size(), 1U);
    // The base station really is somewhere else.
    t.next_sn = t.edge = 40000;
    EXPECT_FALSE(t.mac.on_slot(t.idle()).grant_ok);
    r = t.idle();
    t.add_new(r, 0, test::ipv4(54, 2));
    EXPECT_EQ(t.mac.on_slot(r).ack, 1U);
    EXPECT_EQ(t.got.size(), 2U);
}

// The SN goes on by what is sent blind and no more, however long nothing is heard: what waits here
// is not thrown away.
TEST(TerminalMac, AfterAnySilenceItGoesOnWhereItWas) {
    for (const int silence : {1309, 1310, 1311, 5000, 90000, 10000000}) {
        Terminal t;
        auto r = t.idle();
        t.add_new(r, 0, test::ipv4(54, 1), false);
        t.add_new(r, 1, test::ipv4(54, 2));
        EXPECT_EQ(t.mac.on_slot(r).ack, 2U);
        t.now += silence;
        t.next_sn = static_cast<wire_sn>(t.next_sn + most_blind_frames);
        r = t.idle();
        t.add_again(r, 5, 0, test::ipv4(54, 1));
        EXPECT_EQ(t.mac.on_slot(r).ack, 1U << 5);
        ASSERT_EQ(t.got.size(), 2U) << silence;
        EXPECT_EQ(t.mac.statistics().started_over, 0U);
    }
}

// Plans of every bin come too late, one after the other; what goes out in their slots says what the
// last one that came in time did.
TEST(TerminalMac, AfterQuietGrantsForSlotsThatWereNotSentItGoesOnWhereItWas) {
    for (const int late : {1, 2, 5}) {
        Terminal t;
        auto r = t.idle();
        t.add_new(r, 0, test::ipv4(54, 1), false);
        t.add_new(r, 1, test::ipv4(54, 2));
        EXPECT_EQ(t.mac.on_slot(r).ack, 2U);
        for (int i = 0; i < late; ++i) EXPECT_TRUE(t.mac.on_slot(t.idle()).grant_ok);
        t.next_sn = static_cast<wire_sn>(t.next_sn + late * nof_bins);
        r = t.idle();
        t.add_again(r, 5, 0, test::ipv4(54, 1));
        EXPECT_EQ(t.mac.on_slot(r).ack, 1U << 5) << late;
        EXPECT_EQ(t.got.size(), 2U);
    }
}

TEST(TerminalMac, AnotherBaseStationsWindowMakesItStartOverAndWhatGoesIsCounted) {
    Terminal t;
    auto r = t.idle();
    auto two = test::ipv4(108, 1);
    t.add_new(r, 0, test::ipv4(54, 1));
    t.add_new(r, 1, two);
    t.add_new(r, 2, {two.begin() + 54, two.end()}, false);
    r.grant.bins[2].boundary = no_boundary;
    t.add_new(r, 3, test::ipv4(54, 4));
    EXPECT_EQ(t.mac.on_slot(r).ack, 0xbU);
    EXPECT_EQ(t.got.size(), 1U);
    t.next_sn = t.edge = 40000;
    EXPECT_FALSE(t.mac.on_slot(t.idle()).grant_ok);
    EXPECT_TRUE(t.mac.on_slot(t.idle()).grant_ok);
    const auto& s = t.mac.statistics();
    EXPECT_EQ(s.started_over, 1U);
    ASSERT_EQ(t.got.size(), 2U);  // complete packets are kept
    EXPECT_EQ(t.got[1], test::ipv4(54, 4));
    EXPECT_EQ(s.dropped_start_over.packets, 1U);
    EXPECT_EQ(s.dropped_start_over.bytes, 108U);
    EXPECT_EQ(s.dropped_lost_frame.packets, 0U);
}

TEST(TerminalMac, ARetransmissionOutsideTheWindowIsIgnored) {
    Terminal t;
    t.mac.on_slot(t.idle());
    auto r = t.idle();
    t.add_again(r, 0, 0, test::ipv4(54, 1));  // SN 0 has not been sent
    EXPECT_EQ(t.mac.on_slot(r).ack, 0U);
    EXPECT_TRUE(t.got.empty());
}

TEST(TerminalMac, TheSnRunsOnAcrossItsSixteenBits) {
    link_config c;
    Terminal t(c);
    t.next_sn = t.edge = 65000;
    t.mac.on_slot(t.idle());
    for (int i = 0; i < 200; ++i) {
        t.edge = t.next_sn;
        auto r = t.idle();
        for (std::size_t b = 0; b < 10; ++b)
            t.add_new(r, b, test::ipv4(54, static_cast<std::uint8_t>(i)));
        ASSERT_EQ(t.mac.on_slot(r).ack, 0x3ffU);
    }
    EXPECT_EQ(t.got.size(), 2000U);
}

TEST(TerminalMac, FramesGivenUpAreDroppedWhenTheEdgePassesThem) {
    Terminal t;
    t.mac.on_slot(t.idle());
    auto r = t.idle();
    t.add_new(r, 0, test::ipv4(54, 1), false);
    t.add_new(r, 1, test::ipv4(54, 2));
    t.mac.on_slot(r);
    EXPECT_TRUE(t.got.empty());
    t.edge = 2;
    t.mac.on_slot(t.idle());
    EXPECT_EQ(t.got.size(), 1U);
}

TEST(TerminalMac, RandomReportsNeverCrashIt) {
    splitmix64 dice(1234567);
    const auto random = [&dice] { return dice.next(); };
    for (const bool in_order : {true, false}) {
        link_config c;
        c.in_order = in_order;
        c.deliver_corrupt = true;
        Terminal t(c);
        std::int64_t now = 0;
        for (int i = 0; i < 5000; ++i) {
            slot_report r;
            now += random() % 50 == 0 ? 2000 : 1;
            r.air = slot(now);
            r.locked = random() % 20 != 0;
            r.grant_ok = random() % 10 != 0;
            r.grant.first_new_sn = static_cast<wire_sn>(
                random() % 4 == 0 ? random() : static_cast<std::uint64_t>(now) * 10);
            r.grant.window_edge = static_cast<std::uint16_t>(random() % 500);
            for (std::size_t b = 0; b < nof_bins; ++b) {
                auto& g = r.grant.bins[b];
                g.bits_per_symbol = static_cast<std::uint8_t>(random() % 9);
                g.retransmission = random() % 2 == 0;
                g.sn = static_cast<wire_sn>(r.grant.first_new_sn - random() % 600);
                g.whole = random() % 2 == 0;
                g.offset = static_cast<std::uint8_t>(random());
                g.last = random() % 2 == 0;
                g.boundary = static_cast<std::uint8_t>(random());
                r.outcome[b] = static_cast<frame_outcome>(random() % 4);
                r.payload[b].resize(random() % 120);
                for (auto& byte : r.payload[b]) byte = static_cast<std::uint8_t>(random());
            }
            for (auto& run : r.grant.runs)
                run = {static_cast<wire_sn>(r.grant.first_new_sn - random() % 600),
                       static_cast<std::uint16_t>(random() % 100),
                       static_cast<std::uint8_t>(random())};
            t.mac.on_slot(r);
        }
        EXPECT_EQ(t.mac.statistics().slots, 5000U);
    }
}

TEST(TerminalMac, ADeliverFunctionIsNeeded) {
    EXPECT_THROW(terminal_mac({}, nullptr), std::invalid_argument);
}

}  // namespace
}  // namespace wip
