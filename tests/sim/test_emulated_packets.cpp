// SPDX-License-Identifier: GPL-3.0-or-later
// Packets through the emulated cell: their records against when they were handed over and when they
// were due at the terminal, to the nanosecond, for every packet and every user.
#include <gtest/gtest.h>

#include <map>

#include "emulated_setup.h"
#include "traffic.h"
#include "wire/ecn.h"
#include "wire/ip_header.h"

using namespace wip;
using namespace wip::cell_model;
using sim::emulated_setup;

namespace {

struct seen {
    std::int64_t given = -1, due = -1;
    int records = 0;
    packet_record record;
    std::string dropped;
};

// Runs dry under random traffic; every packet by user and number of arrival at the base station.
std::vector<std::map<std::uint64_t, seen>> run(const emulated_setup& setup, int slots,
                                               packet_journal::totals& totals) {
    emulated_cell cell(setup.cell, setup.sources());
    const auto users = static_cast<std::size_t>(cell.users());
    std::vector<std::map<std::uint64_t, seen>> packets(users);
    std::vector<std::uint64_t> next(users, 0);
    sim::random_source random(7);
    cell.follow_packets([&](int user, const packet_record& r) {
        seen& p = packets[static_cast<std::size_t>(user)][r.number];
        ++p.records;
        p.record = r;
        p.dropped = r.dropped;
    });
    const auto take = [&](emulated_cell::side to, int user, std::span<const std::uint8_t> p,
                          std::int64_t due) {
        if (to != emulated_cell::side::terminal) return;
        packets[static_cast<std::size_t>(user)][*sim::packet_number(p)].due = due;
    };
    cell.deliver_to(take);
    slot k;
    for (; k.value < slots; ++k) {
        cell.run_slot(k);
        // The wired network keeps the order and loses nothing here.
        std::int64_t at = slot_start(k);
        for (int i = random.up_to(4); i > 0; --i) {
            at += random.up_to(150'000);
            const auto u = static_cast<std::size_t>(random.up_to(static_cast<int>(users)));
            const int bytes = 48 + random.up_to(1400);
            packets[u][next[u]].given = at;
            cell.downlink().offer(sim::make_packet(static_cast<std::uint32_t>(next[u]++),
                                                   {.version = 4, .bytes = bytes}),
                                  at, static_cast<int>(u));
        }
        cell.release(slot_start(k + slot_count(1)));
    }
    for (int i = 0; i < 30000 && !cell.idle(); ++i, ++k) {
        cell.run_slot(k);
        cell.release(slot_start(k + slot_count(1)));
    }
    for (int i = 0; i < 10; ++i, ++k) cell.run_slot(k);
    totals = cell.packet_totals();
    return packets;
}

void expect_exact(const std::map<std::uint64_t, seen>& packets, std::int64_t wired_ns,
                  int& delivered, int& dropped) {
    for (const auto& [number, p] : packets) {
        ASSERT_EQ(p.records, 1) << "packet " << number;
        EXPECT_EQ(p.record.wired_ns, wired_ns);
        EXPECT_EQ(p.record.arrived_ns, p.given + wired_ns) << "packet " << number;
        EXPECT_EQ(p.record.parts.sum(), p.record.left_ns - p.record.arrived_ns);
        EXPECT_EQ(p.dropped.empty(), p.due >= 0) << "packet " << number << " " << p.dropped;
        ++(p.due >= 0 ? delivered : dropped);
        if (p.due < 0) continue;
        EXPECT_EQ(p.record.left_ns, p.due) << "packet " << number;
    }
}

}  // namespace

TEST(EmulatedPackets, TotalsAreWhatTheTwoInterfacesSawToTheNanosecond) {
    packet_journal::totals totals;
    emulated_setup setup;
    setup.link().bins = 25;
    setup.cell.seed = setup.cell.uplink.seed = 3;
    setup.cell.to_base.seed = setup.cell.from_base.seed = 3;
    const auto packets = run(setup, 3000, totals);
    int delivered = 0, dropped = 0;
    expect_exact(packets[0], 10'000'000, delivered, dropped);
    EXPECT_GT(delivered, 1000);
    EXPECT_EQ(totals.open(), 0U);
    EXPECT_EQ(totals.skipped, 0U);
    EXPECT_EQ(totals.recorded, packets[0].size());
    int waited = 0;
    for (const auto& [number, p] : packets[0]) waited += p.record.parts.retransmission > 0 ? 1 : 0;
    EXPECT_GT(waited, 100);
}

TEST(EmulatedPackets, WhatTheInterfaceRefusesIsADropWithItsReason) {
    const emulated_setup setup;
    emulated_cell cell(setup.cell, setup.sources());
    std::map<std::uint64_t, std::pair<std::string, int>> ends;
    cell.follow_packets([&](int, const packet_record& r) {
        ends[r.number] = {r.dropped, r.refused};
    });
    std::map<std::uint64_t, int> refused;
    cell.deliver_to(
        [&](emulated_cell::side, int, std::span<const std::uint8_t> p, std::int64_t) -> int {
            const auto number = *sim::packet_number(p);
            return refused[number] = number % 3 == 0 ? 5 : 0;
        });
    for (slot k; k.value < 600; ++k) {
        cell.run_slot(k);
        if (k.value < 300 && k.value % 5 == 0)
            cell.downlink().offer(sim::make_packet(static_cast<std::uint32_t>(k.value / 5),
                                                   {.version = 4, .bytes = 60}),
                                  slot_start(k));
        cell.release(slot_start(k + slot_count(1)));
    }
    ASSERT_EQ(ends.size(), 60U);
    ASSERT_EQ(refused.size(), 60U);
    for (const auto& [number, end] : ends) {
        EXPECT_EQ(end.second, refused[number]) << number;
        EXPECT_EQ(end.first, refused[number] != 0 ? "tun_write" : "") << number;
    }
}

TEST(EmulatedPackets, AFullQueueIsAReasonAndHasNoParts) {
    packet_journal::totals totals;
    emulated_setup setup;
    setup.link().bins = 4;
    setup.link().queue_packets = 5;
    const auto packets = run(setup, 1500, totals);
    int delivered = 0, dropped = 0;
    expect_exact(packets[0], 10'000'000, delivered, dropped);
    EXPECT_GT(delivered, 100);
    EXPECT_GT(dropped, 100);
    for (const auto& [number, p] : packets[0])
        EXPECT_TRUE(p.dropped.empty() || p.dropped == "queue_full") << p.dropped;
}

TEST(EmulatedPackets, EveryUserHasNumbersOfItsOwn) {
    packet_journal::totals totals;
    emulated_setup setup;
    setup.link().bins = 25;
    setup.cell.cell.users = 3;
    const auto packets = run(setup, 1500, totals);
    ASSERT_EQ(packets.size(), 3U);
    for (const auto& of_user : packets) {
        int delivered = 0, dropped = 0;
        expect_exact(of_user, 10'000'000, delivered, dropped);
        EXPECT_GT(delivered, 300);
        EXPECT_EQ(of_user.rbegin()->first + 1, of_user.size());
    }
    EXPECT_EQ(totals.open(), 0U);
}

TEST(EmulatedPackets, AQueueDisciplineDropsForAReasonOfItsOwnAndSaysTheTimeInTheQueue) {
    for (const queue_kind kind : {queue_kind::drop_tail, queue_kind::codel, queue_kind::fq_codel,
                                  queue_kind::pie, queue_kind::dualpi2}) {
        packet_journal::totals totals;
        emulated_setup setup;
        setup.link().bins = 4;
        setup.link().queue_packets = 60;
        setup.link().queue = {.kind = kind, .target_ms = 2};
        const auto packets = run(setup, 1500, totals);
        int delivered = 0, dropped = 0, managed = 0;
        expect_exact(packets[0], 10'000'000, delivered, dropped);
        EXPECT_EQ(totals.open(), 0U);
        EXPECT_EQ(totals.recorded, packets[0].size());
        EXPECT_GT(delivered, 100);
        for (const auto& [number, p] : packets[0]) {
            const packet_record& r = p.record;
            EXPECT_FALSE(r.marked);
            if (p.dropped == "queue_managed") {
                ++managed;
                EXPECT_EQ(r.sojourn_ns, r.left_ns - r.arrived_ns) << number;
                EXPECT_EQ(r.parts.queue, r.sojourn_ns) << number;
            } else if (p.dropped.empty()) {
                // It leaves the queue with its first part.
                EXPECT_GE(r.sojourn_ns, r.parts.queue) << number;
                EXPECT_LE(r.sojourn_ns, r.parts.queue + r.parts.scheduling) << number;
            } else {
                EXPECT_EQ(p.dropped, "queue_full");
            }
        }
        // Every packet is a flow of its own here, so that FQ-CoDel finds none with a standing
        // queue.
        const bool signals = kind != queue_kind::drop_tail && kind != queue_kind::fq_codel;
        EXPECT_EQ(managed > 5, signals) << static_cast<int>(kind);
    }
}

TEST(EmulatedPackets, MarksOfTheQueueAreInThePacketTheRecordAndTheSums) {
    for (const queue_kind kind :
         {queue_kind::codel, queue_kind::fq_codel, queue_kind::pie, queue_kind::dualpi2}) {
        emulated_setup setup;
        setup.link().bins = 10;
        setup.link().queue_packets = 1000;
        setup.link().queue = {.kind = kind};
        emulated_cell cell(setup.cell, setup.sources());
        std::uint64_t records = 0, arrived = 0, offered = 0;
        cell.follow_packets([&](int, const packet_record& r) { records += r.marked ? 1 : 0; });
        cell.deliver_to(
            [&](emulated_cell::side, int, std::span<const std::uint8_t> p, std::int64_t) {
                EXPECT_TRUE(read_ip_header(p)) << "a wrong checksum";
                EXPECT_NE(read_ecn(p), ecn::not_ect);
                arrived += read_ecn(p) == ecn::ce ? 1 : 0;
            });
        // One flow, of more than the link carries.
        slot k;
        for (; k.value < 3000 || !cell.idle(); ++k) {
            cell.run_slot(k);
            while (k.value < 3000 && offered < static_cast<std::uint64_t>(k.value) / 2) {
                auto p = sim::make_packet(static_cast<std::uint32_t>(offered++),
                                          {.version = 4, .bytes = 1200});
                p[1] = static_cast<std::uint8_t>(ecn::ect_1);
                p[9] = 17;
                std::fill(p.begin() + 12, p.begin() + 24, std::uint8_t{7});
                p[10] = p[11] = 0;
                const auto sum = static_cast<std::uint16_t>(~internet_sum(std::span(p).first(20)));
                p[10] = static_cast<std::uint8_t>(sum >> 8);
                p[11] = static_cast<std::uint8_t>(sum);
                cell.downlink().offer(p, slot_start(k));
            }
            cell.release(slot_start(k + slot_count(1)));
        }
        cell.run_slot(k);
        const link_sums sums = cell.downlink().sums();
        EXPECT_EQ(sums.missing(), packets_bytes{});
        EXPECT_GT(arrived, 2U) << static_cast<int>(kind);
        EXPECT_EQ(sums.marked.packets, arrived);
        EXPECT_EQ(records, arrived);
    }
}
