// SPDX-License-Identifier: GPL-3.0-or-later
// A bearer in virtual time: delay, constant bit rate, the share of packets that max_dat gives up
// (Teyeb 2006, 5.2).
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <map>
#include <numeric>
#include <set>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "umts/bearer.h"
#include "umts_bearers.h"

namespace wip::umts {
namespace {

constexpr std::int64_t ms = 1'000'000;

// Answered at once; mean of packets that come at any time within an interval.
double mean_round_trip_ms(const bearer_config& c, int bytes) {
    bearer b(c);
    std::int64_t sent = 0;
    double sum = 0;
    int n = 0;
    b.downlink().deliver_to([&](const link_packet& p) {
        b.uplink().offer(p.data, p.due_ns);
        return 0;
    });
    b.uplink().deliver_to([&](const link_packet& p) {
        sum += static_cast<double>(p.due_ns - sent) / ms;
        ++n;
        return 0;
    });
    for (int i = 0; i < 100; ++i) {
        const std::int64_t t = i * 3000 * ms + i * 97'000;
        run_to(b, t);
        sent = t;
        b.downlink().offer(packet(bytes), sent);
    }
    run_to(b, 400'000 * ms);
    EXPECT_EQ(n, 100);
    return sum / n;
}

TEST(Delay, APacketOfOneBlockTakesTwiceTheOneWayDelayThereAndBack) {
    for (const auto& p : bearer_profiles()) {
        bearer_config c;
        c.profile = p;
        // An answer with a status behind it in one PDU of the narrowest uplink.
        const double rtt = mean_round_trip_ms(c, std::min(28, p.block_up - 8));
        // Where in an uplink interval the answer is made follows from the delays, so the tolerance
        // is half an interval.
        EXPECT_NEAR(rtt, 2 * p.one_way_ms, p.tti_ms == 10 ? 5 : p.tti_ms) << p.name;
    }
}

// Table 7.1 of Teyeb (2006) has 75 ms each way and, by its equation 7.1, the time that the rates
// take on top: 172.8 ms for 84 octets at 384 and 32 kbit/s. Ours counts that by intervals: the
// first one of each way is in the 75 ms, and the answer takes two more (40 octets each) and a third
// for the status that the poll asks for.
TEST(Delay, APingOf84OctetsTakesThreeIntervalsMoreOfTheUplink) {
    EXPECT_NEAR(mean_round_trip_ms(of_profile("umts-384"), 84), 2 * 75 + 3 * 10, 2);
    // One with room for the status, and one without.
    EXPECT_NEAR(mean_round_trip_ms(of_profile("umts-384"), 28), 2 * 75, 2);
    EXPECT_NEAR(mean_round_trip_ms(of_profile("umts-384"), 36), 2 * 75 + 10, 2);
}

// Full queue for `seconds`; bit/s of packets, from an arrival after 5 s to the last one.
double saturated(const bearer_config& c, bool down, int bytes, int seconds) {
    bearer b(c);
    packet_link& l = down ? b.downlink() : b.uplink();
    std::int64_t first = 0, last = 0;
    double bits = 0;
    l.deliver_to([&](const link_packet& p) {
        if (p.due_ns < 5000 * ms) return 0;
        if (first == 0)
            first = p.due_ns;
        else
            bits += static_cast<double>(p.data.size()) * 8;
        last = p.due_ns;
        return 0;
    });
    for (std::int64_t t = 0; t < (seconds + 5) * 1000 * ms; t += 5 * ms) {
        run_to(b, t);
        while (l.sums().queued.packets < 100) l.offer(packet(bytes), t);
    }
    return bits / static_cast<double>(last - first) * 1e9;
}

TEST(Rate, ConstantWithinOnePercent) {
    for (const char* name : {"umts-384", "umts-64", "umts-32", "lundsten-384"}) {
        const bearer_config c = of_profile(name);
        EXPECT_NEAR(saturated(c, true, 1500, 30) / (c.profile.kbps_down * 1e3), 1, 0.01) << name;
        EXPECT_NEAR(saturated(c, false, 1500, 60) / (c.profile.kbps_up * 1e3), 1, 0.01) << name;
    }
}

// Share of packets that do not arrive, each alone.
double lost_share(bearer_config c, int bytes, int max_dat, int packets) {
    c.errors_down.rate = 0.1;
    c.rlc.max_dat = max_dat;
    c.rlc.status_prohibit_ns = 200 * ms;  // longer than the round trip
    c.seed = static_cast<std::uint64_t>(max_dat);
    bearer b(c);
    for (int i = 0; i < packets; ++i) {
        run_to(b, i * 4000 * ms);
        b.downlink().offer(packet(bytes), i * 4000 * ms);
    }
    run_to(b, packets * 4000 * ms);
    EXPECT_TRUE(b.downlink().idle());
    return 1 - static_cast<double>(b.downlink().sums().delivered.packets) / packets;
}

void expect_share(const bearer_config& c, int bytes, int max_dat, double expected) {
    const int packets = 40'000;
    const double deviation = std::sqrt(expected * (1 - expected) / packets);
    EXPECT_NEAR(lost_share(c, bytes, max_dat, packets), expected, 3.3 * deviation)
        << bytes << " " << max_dat;
}

// 1 - (1 - p^m)^N.
double lost_of_blocks(int blocks, int max_dat) {
    return 1 - std::pow(1 - std::pow(0.1, max_dat), blocks);
}

TEST(Discard, TheShareOfLostPacketsIsThatOfIndependentBlocks) {
    // The last PDU of all is repeated for polls' sake, beyond m where that does not count; so, but
    // for a single transmission, the blocks are full ones: 3 of 12 PDUs, of which one more or less
    // does not matter.
    bearer_config c = of_profile("umts-384");
    c.rlc.poll_counted = poll_counting::never;
    for (const auto [bytes, blocks, m] :
         {std::array{1500, 4, 1}, {1400, 3, 1}, {1400, 3, 2}, {1400, 3, 3}, {1400, 3, 4}})
        expect_share(c, bytes, m, lost_of_blocks(blocks, m));
}

TEST(Discard, WherePollsCountItIsThatOfAllFourBlocksOf1500Octets) {
    bearer_config c = of_profile("umts-384");
    c.profile.block_down = 480;  // one PDU per block
    for (const int m : {2, 3, 4}) expect_share(c, 1500, m, lost_of_blocks(4, m));
    // With a single transmission polls go on by default: that of the last block is not lost then.
    expect_share(c, 1500, 1, lost_of_blocks(3, 1));
    c.rlc.poll_counted = poll_counting::always;
    expect_share(c, 1500, 1, lost_of_blocks(4, 1));
    // Two PDUs in the last block: that with the poll is repeated first, and the other one when that
    // is there. Lost the first time, each has one more. (With more transmissions full blocks come
    // apart so, too: their last PDU is repeated alone.)
    c.profile.block_down = 40;
    const double last = 0.1 * (1 - 0.9 * 0.9);
    expect_share(c, 1500, 2, 1 - (1 - lost_of_blocks(3, 2)) * (1 - last));
}

TEST(Discard, WhatIsGivenUpMayArriveOrIsGone) {
    // A third of the blocks is lost: the last transmission is often on its way when
    // the packet before it is given up.
    std::array<std::uint64_t, 2> delivered{}, dropped{};
    for (const bool final : {false, true}) {
        bearer_config c = of_profile("umts-384");
        c.errors_down.rate = 0.3;
        c.rlc.max_dat = 2;
        c.rlc.status_prohibit_ns = 50 * ms;  // asks again for PDUs that are on their way
        c.given_up_is_final = final;
        bearer b(c);
        for (int i = 0; i < 100; ++i) b.downlink().offer(packet(1500), 0);
        run_to(b, 100'000 * ms);
        EXPECT_TRUE(b.downlink().idle());
        const link_sums s = b.downlink().sums();
        EXPECT_EQ(s.delivered.packets + s.dropped[1].count.packets, 100U);
        delivered[final] = s.delivered.packets;
        // Each packet that the sender gave up, whether it arrived or not.
        dropped[final] = b.sender(bearer::way::down).counts().discarded;
        if (final) {
            EXPECT_EQ(s.delivered.packets + dropped[1], 100U);
        }
    }
    // The sender does the same in both; what the receiver completes is what differs.
    EXPECT_EQ(dropped[0], dropped[1]);
    EXPECT_GT(delivered[0], delivered[1] + 5);
}

// The second, the fourth and the fifth block are lost; an interval is a PDU.
TEST(KnownOutcome, ALostPduIsTheFirstAgainAfterTheTimeThatIsSet) {
    bearer_config c = of_profile("lundsten-384");
    c.outcome = feedback::known;
    c.again_ns = 60 * ms;
    c.errors_down.runs = {1, 1, 1, 2, 1000, 1};
    bearer b(c);
    std::vector<std::pair<std::int64_t, bool>> sent;
    std::vector<int> numbers;
    b.watch([&](bearer::way w, std::span<const std::uint8_t> pdu, std::int64_t start, bool lost) {
        if (w == bearer::way::up) return;
        sent.emplace_back(start / ms, lost);
        numbers.push_back((pdu[0] & 0x7f) << 5 | pdu[1] >> 3);
    });
    for (int i = 0; i < 6; ++i) b.downlink().offer(packet(1500), 0);
    run_to(b, 2000 * ms);
    // PDU 1 is lost in the interval from t + 20 to t + 40, and comes again at t + 100.
    const std::vector<int> expected{0, 1, 2, 3, 4, 1, 5, 3, 4, 6, 7, 8, 9};
    ASSERT_GE(numbers.size(), 9U);
    for (std::size_t i = 0; i < 9; ++i) {
        EXPECT_EQ(numbers[i], expected[i]) << i;
        EXPECT_EQ(sent[i].first, sent[0].first + 20 * static_cast<std::int64_t>(i));
    }
    EXPECT_EQ(b.downlink().sums().delivered.packets, 6U);
    const rlc_counts counts = b.sender(bearer::way::down).counts();
    EXPECT_EQ(counts.polls, 0U);
    EXPECT_EQ(counts.retransmissions, 3U);
    EXPECT_EQ(counts.held, 0U);
    EXPECT_EQ(b.counts(bearer::way::up).pdus, 0U);  // no status
}

TEST(KnownOutcome, WithManyErrorsEverythingArrivesAndATenthCostsATenth) {
    for (const bool alone : {false, true})
        for (const bool in_order : {false, true}) {
            bearer_config c = of_profile("lundsten-384");
            c.outcome = feedback::known;
            c.pdus_alone = alone;
            if (alone) c.profile.block_down = 40;
            c.rlc.in_sequence = in_order;
            c.rlc.queue_sdus = 5000;
            c.errors_down.rate = 0.1;
            bearer b(c);
            for (int i = 0; i < 2000; ++i) b.downlink().offer(packet(1500), 0);
            std::int64_t t = 0;
            while (!b.downlink().idle() && t < 200'000 * ms) run_to(b, t += 100 * ms);
            EXPECT_EQ(b.downlink().sums().delivered.packets, 2000U);
            EXPECT_EQ(b.sender(bearer::way::down).counts().held, 0U);
            // 2000 packets at 384 kbit/s take 62.5 s.
            EXPECT_NEAR(static_cast<double>(t) / (62'500 * ms), 1 / 0.9, 0.03);
        }
}

TEST(Errors, ARecordedSequenceIsKeptAndBeginsAnew) {
    bearer_config c = of_profile("umts-384");
    c.errors_down.runs = {3, 2, 1, 1, 2};  // 0001101 00, and anew
    c.rlc.max_dat = 1000;
    bearer b(c);
    std::string lost;
    std::int64_t last = -1;
    b.watch([&](bearer::way w, std::span<const std::uint8_t>, std::int64_t start, bool l) {
        if (w == bearer::way::down && start != last) lost += l ? '1' : '0';
        last = w == bearer::way::down ? start : last;
    });
    for (int i = 0; i < 20; ++i) b.downlink().offer(packet(1500), 0);
    run_to(b, 20'000 * ms);
    EXPECT_EQ(lost.substr(0, 21), "000110100000110100000");
    EXPECT_EQ(b.counts(bearer::way::up).blocks_lost, 0U);
    EXPECT_EQ(b.downlink().sums().delivered.packets, 20U);
    c.errors_down.runs = {0, 0};
    EXPECT_THROW(bearer{c}, std::invalid_argument);
}

struct spell {
    std::vector<std::int64_t> due;
    bearer_counts counts;
};

// A packet of 100 bytes every 50 ms for ten seconds.
spell ten_seconds(const bearer_config& c) {
    bearer b(c);
    spell s;
    b.downlink().deliver_to([&](const link_packet& p) {
        s.due.push_back(p.due_ns);
        return 0;
    });
    for (std::int64_t t = 0; t < 10'000 * ms; t += 50 * ms) {
        run_to(b, t);
        b.downlink().offer(packet(100), t);
    }
    run_to(b, 20'000 * ms);
    EXPECT_TRUE(b.downlink().idle());
    s.counts = b.counts(bearer::way::down);
    return s;
}

TEST(Episodes, ADelaySpikeHoldsWhatWaitsAndLosesNothing) {
    bearer_config c = of_profile("umts-384");
    // The spike in the middle is part of the first one.
    c.spikes = {{2000 * ms, 3000 * ms}, {3000 * ms, 500 * ms}, {7995 * ms, 500 * ms}};
    const spell s = ten_seconds(c);
    EXPECT_EQ(s.due.size(), 200U);
    EXPECT_EQ(s.counts.blocks_lost, 0U);
    const std::int64_t flight = 10 * ms + 60 * ms;  // time of a block, and the delay behind it
    for (const std::int64_t due : s.due) {
        EXPECT_FALSE(due > 2000 * ms + flight && due < 5000 * ms + flight) << due;
        EXPECT_FALSE(due > 7995 * ms + flight && due < 8500 * ms + flight) << due;
    }
    // The first of the packets that waited goes with the interval in which the spike ends.
    EXPECT_EQ(*std::ranges::lower_bound(s.due, 5000 * ms), 5000 * ms + flight);
    EXPECT_EQ(*std::ranges::lower_bound(s.due, 8100 * ms), 8500 * ms + flight);
}

TEST(Episodes, AnOutageLosesEveryBlockAndTheBearerRecovers) {
    bearer_config c = of_profile("umts-384");
    c.rlc.max_dat = 1000;
    c.outages = {{2000 * ms, 3000 * ms}};
    const spell s = ten_seconds(c);
    EXPECT_EQ(s.due.size(), 200U);
    EXPECT_GE(s.counts.blocks_lost, 60U);
    for (const std::int64_t due : s.due) EXPECT_FALSE(due > 2070 * ms && due < 5070 * ms) << due;
    EXPECT_EQ(ten_seconds(of_profile("umts-384")).counts.blocks_lost, 0U);
}

// A burst that fills the link: of how many intervals what share of the PDUs is lost.
std::vector<double> lost_by_interval(bool pdus_alone) {
    bearer_config c = of_profile("lundsten-384");
    c.profile.block_down = 40;
    c.errors_down.rate = 0.1;
    c.rlc.max_dat = 1000;
    c.pdus_alone = pdus_alone;
    bearer b(c);
    std::map<std::int64_t, std::pair<int, int>> sent_and_lost;
    b.watch(
        [&](bearer::way w, std::span<const std::uint8_t> pdu, std::int64_t start_ns, bool lost) {
            if (w != bearer::way::down) return;
            EXPECT_EQ(pdu.size(), 42U);
            ++sent_and_lost[start_ns].first;
            sent_and_lost[start_ns].second += lost ? 1 : 0;
        });
    for (int i = 0; i < 200; ++i) b.downlink().offer(packet(1200), 0);
    run_to(b, 60'000 * ms);
    EXPECT_EQ(b.downlink().sums().delivered.packets, 200U);
    std::vector<double> shares;
    for (const auto& [start, n] : sent_and_lost) {
        EXPECT_LE(n.first, 24);  // 384 kbit/s, 20 ms
        if (n.first == 24) shares.push_back(n.second / 24.0);
    }
    return shares;
}

TEST(Errors, SmallPdusOfAnIntervalAreLostTogetherOrEachByItself) {
    const auto together = lost_by_interval(false), alone = lost_by_interval(true);
    EXPECT_TRUE(std::ranges::all_of(together, [](double s) { return s == 0 || s == 1; }));
    EXPECT_FALSE(std::ranges::all_of(alone, [](double s) { return s == 0 || s == 1; }));
    for (const auto& shares : {together, alone}) {
        const double mean =
            std::accumulate(shares.begin(), shares.end(), 0.0) / static_cast<double>(shares.size());
        const double errors = static_cast<double>(shares.size()) * (&shares == &alone ? 24 : 1);
        EXPECT_NEAR(mean, 0.1, 3.3 * std::sqrt(0.09 / errors)) << shares.size();
    }
}

TEST(Journal, APacketAloneHasTheTimesOfItsBlocks) {
    bearer b(of_profile("umts-384"));
    std::vector<packet_record> records;
    std::vector<std::uint8_t> again;
    sdu_journal journal(
        [&](const packet_record& r) {
            records.push_back(r);
            again.assign(r.retransmissions.begin(), r.retransmissions.end());
        },
        sn_space);
    b.follow(bearer::way::down, &journal);
    run_to(b, 105 * ms);
    b.downlink().offer(packet(1500), 105 * ms);
    run_to(b, 1000 * ms);
    ASSERT_EQ(records.size(), 1U);
    const packet_record& r = records[0];
    // 38 PDUs of 40 octets, the first 36 of them in three blocks, from 110 ms on.
    EXPECT_EQ(again, std::vector<std::uint8_t>(38, 0));
    EXPECT_EQ(r.first_pdu, 0);
    EXPECT_EQ(r.last_pdu, 37);
    EXPECT_EQ(r.parts, (packet_parts{0, 35 * ms, 70 * ms, 0, 0}));
    EXPECT_EQ(r.left_ns, 210 * ms);
    EXPECT_EQ(r.bytes, 1500U);
}

TEST(Journal, AnUplinkPacketAloneHasTheTimesOfItsBlocksAndTheWiredNetworkBehindIt) {
    bearer_config c = of_profile("umts-384");
    c.profile.one_way_ms = 100;  // 25 of them in the core network
    bearer b(c);
    std::vector<packet_record> records;
    std::int64_t due_at_ns = 0;
    sdu_journal journal([&](const packet_record& r) { records.push_back(r); }, sn_space, true);
    b.follow(bearer::way::up, &journal);
    b.uplink().deliver_to([&](const link_packet& p) {
        due_at_ns = p.due_ns;
        return 0;
    });
    run_to(b, 105 * ms);
    b.downlink().offer(packet(100), 105 * ms);  // nobody follows this packet
    b.uplink().offer(packet(150), 105 * ms);
    run_to(b, 1000 * ms);
    ASSERT_EQ(records.size(), 1U);
    const packet_record& r = records[0];
    // Four PDUs of 40 octets, one in an interval, the first at 105 ms.
    EXPECT_TRUE(r.uplink);
    EXPECT_EQ(r.first_pdu, 0);
    EXPECT_EQ(r.last_pdu, 3);
    EXPECT_EQ(r.parts, (packet_parts{0, 30 * ms, 70 * ms, 0, 0}));
    EXPECT_EQ(r.arrived_ns, 105 * ms);
    EXPECT_EQ(r.left_ns, 205 * ms);
    EXPECT_EQ(r.wired_ns, 25 * ms);
    EXPECT_EQ(r.left_ns + r.wired_ns, due_at_ns);
}

// There is as much traffic in the other direction, none of which is reported for this one.
void follow_a_way(bearer::way way, bool in_order, std::uint64_t& waited) {
    bearer_config c = of_profile("umts-384");
    c.errors_down.rate = c.errors_up.rate = 0.1;
    c.rlc.max_dat = 2;
    c.rlc.queue_sdus = 10;
    c.rlc.in_sequence = in_order;
    c.profile.one_way_ms = 100;
    bearer b(c);
    const bool down = way == bearer::way::down;
    packet_link& link = down ? b.downlink() : b.uplink();
    std::set<int> sent, reported;
    std::set<std::uint64_t> numbers;
    // by time: packets that the journal says were delivered then, less those that the link
    // delivered
    std::map<std::int64_t, int> left;
    std::uint64_t again = 0, dropped = 0, reordered = 0;
    link.deliver_to([&](const link_packet& p) {
        --left[p.due_ns];
        return 0;
    });
    sdu_journal journal(
        [&](const packet_record& r) {
            EXPECT_TRUE(numbers.insert(r.number).second);
            EXPECT_EQ(r.uplink, !down);
            EXPECT_EQ(r.parts.sum(), r.left_ns - r.arrived_ns) << r.number;
            for (const auto n : r.retransmissions) again += n;
            dropped += *r.dropped != '\0' ? 1 : 0;
            if (*r.dropped == '\0') ++left[r.left_ns + (down ? 0 : r.wired_ns)];
            reordered += r.parts.reordering > 0 ? 1 : 0;
            for (int sn = r.first_pdu; r.first_pdu >= 0; sn = (sn + 1) % sn_space) {
                reported.insert(sn);
                if (sn == r.last_pdu) break;
            }
        },
        sn_space, !down);
    b.follow(way, &journal);
    b.watch([&](bearer::way w, std::span<const std::uint8_t> pdu, std::int64_t, bool) {
        if (w == way && (pdu[0] & 0x80U) != 0) sent.insert((pdu[0] & 0x7f) << 5 | pdu[1] >> 3);
    });
    // Both at their rates, nearly.
    for (std::int64_t t = 0; t < 3000 * ms; t += 30 * ms) {
        run_to(b, t);
        b.downlink().offer(packet(1400), t);
        b.uplink().offer(packet(117), t);
    }
    run_to(b, 10'000 * ms);
    const link_sums sums = link.sums();
    EXPECT_EQ(numbers.size(), sums.in.packets);
    // One that was given up may arrive.
    EXPECT_GE(dropped, sums.in.packets - sums.delivered.packets);
    EXPECT_GT(dropped, 0U);
    EXPECT_GT(again, 0U);
    int late = 0;
    for (const auto& [at, n] : left) {
        EXPECT_LE(n, 0) << at;
        late -= n;
    }
    EXPECT_EQ(late, static_cast<int>(dropped + sums.delivered.packets - sums.in.packets));
    waited = reordered;
    // Every PDU that was sent belongs to some packet, and no packet has one that was not sent.
    EXPECT_EQ(reported, sent);
}

TEST(Journal, EveryPacketIsToldOnceWithItsPdusAndThePartsAddUp) {
    for (const auto way : {bearer::way::down, bearer::way::up}) {
        SCOPED_TRACE(way == bearer::way::down ? "down" : "up");
        std::uint64_t out_of_order = 0, in_order = 0;
        follow_a_way(way, false, out_of_order);
        follow_a_way(way, true, in_order);
        // Out of order it waits only for the PDU before it, in which it begins.
        EXPECT_LT(2 * out_of_order, in_order);
    }
}

// The first of seven blocks comes again at 230 ms; the second packet is whole before.
TEST(Counts, AReceiverHoldsWhatItCannotHandOutYet) {
    for (const bool in_order : {true, false}) {
        bearer_config c = of_profile("umts-384");
        c.errors_down.runs = {0, 1, 1000};
        c.rlc.in_sequence = in_order;
        bearer b(c);
        const auto held = [&b] { return b.receiver(bearer::way::down).counts(); };
        b.downlink().offer(packet(1500), 0);
        b.downlink().offer(packet(1500), 0);
        run_to(b, 200 * ms);
        EXPECT_EQ(held().received, (in_order ? 3000 : 1500) - 12 * 40);
        run_to(b, 300 * ms);
        EXPECT_EQ(held().received, 0);
        EXPECT_EQ(b.delivered(bearer::way::down).packets, 2U);
        // The receiver has held all but the last PDU of the block; out of order it had delivered
        // the second packet by then.
        if (in_order)
            EXPECT_EQ(held().most_received, 3000 - 40);
        else
            EXPECT_LE(held().most_received, 3000 - 12 * 40);
        EXPECT_EQ(b.receiver(bearer::way::up).counts().most_received, 0);
    }
}

TEST(Counts, ABusyIntervalIsOneWithAnyPdu) {
    bearer b(of_profile("umts-384"));
    EXPECT_EQ(b.busy_bps(bearer::way::down), 0);
    b.downlink().offer(packet(1500), 0);  // 38 PDUs in four intervals
    run_to(b, 65 * ms);
    EXPECT_DOUBLE_EQ(b.busy_bps(bearer::way::down), 38 * 320 / 0.04);
    EXPECT_EQ(b.busy_bps(bearer::way::up), 0);
}

TEST(Counts, BehindAFirstPacketThatIsNotOverSoManyAreRememberedAndNoMore) {
    bearer_config c = of_profile("umts-384");
    c.spikes = {{0, 10'000 * ms}};
    bearer b(c);
    std::uint64_t reported = 0;
    sdu_journal journal([&](const packet_record&) { ++reported; }, 4096, true);
    b.follow(bearer::way::up, &journal);
    constexpr std::uint64_t most = 1 << 20, offered = most + 1000;
    const auto p = packet(40);
    for (std::uint64_t n = 0; n < offered; ++n) b.uplink().offer(p, 0);
    EXPECT_EQ(b.uplink().sums().queued.packets, 200u);
    EXPECT_EQ(b.uplink().sums().dropped[0].count.packets, offered - 200);
    EXPECT_EQ(reported, most);
    run_to(b, 20'000 * ms);
    EXPECT_EQ(b.uplink().sums().delivered.packets, 200u);
    EXPECT_TRUE(b.uplink().offer(p, 20'000 * ms));
    EXPECT_EQ(reported, most + 200);
}

TEST(Config, WhatIsWrongIsNamed) {
    bearer_config c;
    c.rlc.window = 4096;
    EXPECT_THROW(bearer{c}, std::invalid_argument);
    c = {};
    c.errors_up.rate = 2;
    try {
        const bearer b(c);
        ADD_FAILURE();
    } catch (const std::invalid_argument& e) {
        EXPECT_NE(std::string(e.what()).find("umts.up_errors is 2"), std::string::npos);
    }
    c = of_profile("lundsten-384");
    c.profile.one_way_ms = 39;
    try {
        const bearer b(c);
        ADD_FAILURE();
    } catch (const std::invalid_argument& e) {
        EXPECT_NE(std::string(e.what()).find("umts.one_way_ms is 39"), std::string::npos);
        EXPECT_NE(std::string(e.what()).find("valid: 40"), std::string::npos);
    }
}

}  // namespace
}  // namespace wip::umts
