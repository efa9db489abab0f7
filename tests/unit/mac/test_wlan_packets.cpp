// SPDX-License-Identifier: GPL-3.0-or-later
// The reports of an 802.11b cell about each station and each packet of its downlink.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <tuple>
#include <vector>

#include "packet/attempt_models.h"
#include "wlan_world.h"

namespace wip::wlan {
namespace {

using packet_model::attempt_config;

// A report of a packet, with the parts that are valid only during the call.
struct reported {
    packet_record record;
    int station;
    std::vector<std::uint8_t> again;
};

struct followed : world {
    using world::world;
    std::vector<reported> all;
    void follow() {
        cell.follow([this](const packet_record& r, int station) {
            EXPECT_EQ(r.parts.sum(), r.left_ns - r.arrived_ns);
            all.push_back({r, station, {r.retransmissions.begin(), r.retransmissions.end()}});
        });
    }
};

TEST(WlanPackets, TheWayOfAPacketIsToldToTheNanosecond) {
    followed w({}, scripted_errors([](int i) { return i < 2; }));
    w.follow();
    w.cell.set_wired(15 * ms);
    for (int i = 0; i < 2; ++i) w.cell.downlink().offer(std::vector<std::uint8_t>(size), s, 0);
    w.run_until(2 * s);
    ASSERT_EQ(w.all.size(), 2U);
    const dcf_times t;
    const auto& [first, second] = std::tie(w.all[0].record, w.all[1].record);
    EXPECT_EQ(first.wired_ns, 15 * ms);
    EXPECT_EQ(first.arrived_ns, s);
    EXPECT_EQ(w.all[0].again, std::vector<std::uint8_t>{2});
    // Alone on an idle channel it is sent at once; then twice a backoff of whole slots.
    EXPECT_EQ(first.parts.queue + first.parts.scheduling + first.parts.reordering, 0);
    EXPECT_EQ(first.parts.air, t.data(size));
    const auto backoffs =
        first.parts.retransmission - 2 * (t.ack_timeout() + dcf_times::difs + t.data(size));
    EXPECT_EQ(backoffs % dcf_times::slot, 0);
    EXPECT_LE(backoffs, (63 + 127) * dcf_times::slot);
    // The second is first in the queue when the first one is there; ACK, DIFS, backoff, data.
    EXPECT_EQ(second.parts.queue, first.left_ns - s);
    const auto contention = second.parts.scheduling - dcf_times::sifs - t.ack() - dcf_times::difs;
    EXPECT_EQ(contention % dcf_times::slot, 0);
    EXPECT_LE(contention, 31 * dcf_times::slot);
    EXPECT_EQ(second.parts.air, t.data(size));
    EXPECT_EQ(second.parts.retransmission + second.parts.reordering, 0);
    EXPECT_EQ(second.left_ns, w.last_due);
    w.cell.follow({});
    w.cell.downlink().offer(std::vector<std::uint8_t>(size), w.now, 0);
    w.run_until(3 * s);
    EXPECT_EQ(w.all.size(), 2U);
}

// Queues that overflow, frames given up, relays.
TEST(WlanPackets, OfEachStationEveryPacketIsCountedAndToldOnce) {
    for (const int hops : {1, 3}) {
        constexpr int n = 3;
        followed w(
            {.retry_limit = 3, .stations = n, .hops = hops, .queue_packets = 4, .put_back = false},
            [hops](int from, int to) {
                // Losses on the way to the second station come in longer bursts.
                const bool bad = to == hops + 1;
                return packet_model::make_attempt_errors(
                    {.kind = attempt_config::model::burst, .burst = bad ? 50 : 15},
                    static_cast<std::uint32_t>(100 * from + to));
            });
        w.follow();
        for (int i = 0; i < 900; ++i) {
            w.cell.downlink().offer(std::vector<std::uint8_t>(size), w.now, i % n);
            w.run_until(w.now + 4 * ms);
        }
        w.run_until(w.now + 10 * s);
        std::uint64_t attempts = 0, sent = 0;
        for (int i = 0; i < w.cell.nodes(); ++i) attempts += w.cell.counts(i).attempts;
        std::vector<std::vector<const reported*>> packets_of_station(n);
        for (const auto& t : w.all) {
            packets_of_station[static_cast<std::size_t>(t.station)].push_back(&t);
            for (const auto again : t.again) sent += 1U + again;
            if (*t.record.dropped == '\0') {
                EXPECT_EQ(t.again.size(), static_cast<std::size_t>(hops));
            }
        }
        EXPECT_EQ(sent, attempts);
        EXPECT_EQ(w.cell.counts_to(0).attempts + w.cell.counts_to(1).attempts +
                      w.cell.counts_to(2).attempts,
                  w.cell.counts(0).attempts);
        for (int i = 0; i < n; ++i) {
            const auto& own_packets = packets_of_station[static_cast<std::size_t>(i)];
            const link_sums sums = w.cell.downlink_sums(i);
            EXPECT_EQ(sums.in.packets, 300U);
            ASSERT_EQ(own_packets.size(), 300U);
            EXPECT_EQ(sums.missing(), packets_bytes{});
            EXPECT_EQ(sums.delivered.packets, w.down[static_cast<std::size_t>(i)]);
            std::vector<bool> there(300);
            for (const auto* t : own_packets) there[t->record.number] = true;
            EXPECT_EQ(std::ranges::count(there, true), 300);
            for (const auto& d : sums.dropped)
                EXPECT_EQ(std::ranges::count_if(
                              own_packets,
                              [&](auto* t) { return t->record.dropped == std::string(d.reason); }),
                          static_cast<std::ptrdiff_t>(d.count.packets))
                    << d.reason << ", station " << i << ", hops " << hops;
        }
        // The errors are those of the second station alone.
        EXPECT_GT(w.cell.downlink_sums(1).dropped[2].count.packets,
                  2 * w.cell.downlink_sums(0).dropped[2].count.packets);
    }
}

}  // namespace
}  // namespace wip::wlan
