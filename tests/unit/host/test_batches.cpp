// SPDX-License-Identifier: GPL-3.0-or-later
// Topics whose messages hold the records of several slots: when they are published, what their
// counts say, and that nothing stays behind.
#include <gtest/gtest.h>

#include "emulator/emulator_config.h"
#include "emulator/emulator_telemetry.h"
#include "station/frame_log.h"
#include "station/ip_log.h"
#include "station_world.h"

namespace wip::host {
namespace {

using openwip::telemetry::FrameBatch;
using openwip::telemetry::IpBatch;

TEST(batch_window, is_due_in_every_fifteenth_slot) {
    batch_window window;
    for (std::int64_t k = 1; k < 100; ++k) {
        EXPECT_EQ(window.due(slot(k), 1), k % 15 == 0) << k;
        if (k % 15 == 0) window.published();
    }
    EXPECT_EQ(window.last(), slot(99));
}

TEST(batch_window, does_not_wait_longer_when_slots_are_missing_or_counted_anew) {
    batch_window window;
    EXPECT_FALSE(window.due(slot(7), 1));
    EXPECT_FALSE(window.due(slot(20), 1));
    EXPECT_TRUE(window.due(slot(21), 1));
    window.published();
    EXPECT_FALSE(window.due(slot(22), 1));
    EXPECT_TRUE(window.due(slot(4), 1));
}

TEST(batch_window, does_not_let_a_large_batch_wait) {
    batch_window window;
    EXPECT_FALSE(window.due(slot(1), batch_window::most_bytes - 1));
    EXPECT_TRUE(window.due(slot(1), batch_window::most_bytes));
}

TEST(batch_window, is_never_due_while_nothing_waits_and_opens_with_what_comes) {
    batch_window window;
    for (std::int64_t k = 1; k < 100; ++k) EXPECT_FALSE(window.due(slot(k), 0)) << k;
    EXPECT_EQ(window.last(), slot(99));
    EXPECT_FALSE(window.due(slot(101), 1)) << "open since now";
    EXPECT_TRUE(window.due(slot(105), 1));
}

class ip_packets : public testing::Test {
protected:
    ip_packets() { out.want(topic::ip); }
    void give(int packets, std::size_t bytes = 40) {
        const std::vector<std::uint8_t> packet(bytes, 1);
        for (int i = 0; i < packets; ++i)
            log->add(ip_log::way::in, ip_log::link::down, packet, given++);
    }
    const IpBatch& message(std::size_t i) const { return out.of(topic::ip).at(i).ip(); }
    std::size_t messages() const { return out.of(topic::ip).size(); }

    telemetry_spy out;
    std::optional<ip_log> log{std::in_place, out, 3};
    int given = 0;
};

TEST_F(ip_packets, of_several_slots_are_one_message_in_order) {
    for (std::int64_t k = 1; k <= 30; ++k) {
        give(k % 4 == 0 ? 2 : 0);
        log->slot_done(slot(k));
    }
    ASSERT_EQ(messages(), 2U);
    EXPECT_EQ(out.of(topic::ip)[0].slot(), 15);
    EXPECT_EQ(out.of(topic::ip)[0].user(), 3U);
    std::int64_t next = 0;
    for (std::size_t m = 0; m < 2; ++m) {
        EXPECT_EQ(message(m).packets_before(), static_cast<std::uint64_t>(next));
        for (const auto& p : message(m).packet()) EXPECT_EQ(p.time_ns(), next++);
    }
    EXPECT_EQ(next, 14);
}

TEST_F(ip_packets, of_a_flood_are_cut_off_slot_by_slot_and_counted) {
    give(7, 60000);
    log->slot_done(slot(1));
    ASSERT_EQ(messages(), 1U) << "large: it does not wait for slot 15";
    EXPECT_EQ(message(0).packet_size(), 4);
    EXPECT_EQ(message(0).skipped(), 3U);
    log->slot_done(slot(2));
    EXPECT_EQ(messages(), 1U) << "nothing came";
    for (const std::int64_t k : {3, 4}) {
        give(ip_log::most_packets + 1);
        log->slot_done(slot(k));
    }
    log->slot_done(slot(15));
    ASSERT_EQ(messages(), 2U);
    EXPECT_EQ(message(1).packet_size(), 2 * ip_log::most_packets);
    EXPECT_EQ(message(1).skipped(), 5U) << "of all time";
    EXPECT_EQ(message(1).packets_before(), 4U);
    out.want(topic::ip, false);
    give(1);
    log->slot_done(slot(30));
    EXPECT_EQ(messages(), 2U);
}

TEST_F(ip_packets, that_wait_at_the_end_are_published) {
    give(2);
    log->slot_done(slot(31));
    EXPECT_EQ(messages(), 0U);
    log.reset();
    ASSERT_EQ(messages(), 1U);
    EXPECT_EQ(message(0).packet_size(), 2);
    EXPECT_EQ(out.of(topic::ip)[0].slot(), 31);
}

TEST_F(ip_packets, go_out_at_once_when_they_are_flushed_and_the_numbers_go_on) {
    log->flush();
    EXPECT_EQ(messages(), 0U) << "nothing waits";
    for (std::int64_t k = 16; k <= 21; ++k) log->slot_done(slot(k));
    give(2);  // packets since the last slot
    log->flush();
    log->flush();
    ASSERT_EQ(messages(), 1U);
    EXPECT_EQ(message(0).packet_size(), 2);
    EXPECT_EQ(out.of(topic::ip)[0].slot(), 21);
    give(1);
    log->slot_done(slot(22));
    log->slot_done(slot(30));
    ASSERT_EQ(messages(), 2U);
    EXPECT_EQ(message(1).packets_before(), 2U);
    EXPECT_EQ(out.of(topic::ip)[1].slot(), 30);
}

class link_frames : public testing::Test {
protected:
    link_frames() { out.want(topic::frames); }
    static std::string grant_of(std::int64_t k) {
        return std::string(grant_bytes, static_cast<char>(k));
    }
    // Bin b with b + 1 bits a symbol, whose payload is its slot; a third of them without payload.
    slot_report received(std::int64_t k, std::size_t bins) const {
        slot_report r;
        r.air = slot(k);
        for (std::size_t b = 0; b < bins; ++b) {
            r.outcome[b] = b % 3 == 2 ? frame_outcome::unknown : frame_outcome::good;
            r.grant.bins[b] = {.bits_per_symbol = static_cast<std::uint8_t>(b % 8 + 1),
                               .sn = static_cast<wire_sn>(100 * k + static_cast<std::int64_t>(b))};
            r.snr_db[b] = static_cast<float>(b);
            if (b % 3 == 2) continue;
            const int bytes = frame_payload_bytes(profile, static_cast<int>(b % 8 + 1));
            r.payload[b].assign(static_cast<std::size_t>(bytes), static_cast<std::uint8_t>(k));
        }
        return r;
    }
    const FrameBatch& message(std::size_t i) const { return out.of(topic::frames).at(i).frames(); }

    static constexpr link_profile profile = link_profile::radio;
    telemetry_spy out;
    std::optional<frame_log> log{std::in_place, out, profile};
};

TEST_F(link_frames, of_several_slots_are_columns_in_the_order_of_slots_and_bins) {
    constexpr std::size_t bins = 10;
    for (std::int64_t k = 16; k <= 30; ++k) {
        log->add(k % 2 == 0 ? received(k, bins) : slot_report{},
                 grant_of(k));  // every other slot is empty
        log->slot_done(slot(k));
    }
    ASSERT_EQ(out.of(topic::frames).size(), 1U);
    const FrameBatch& m = message(0);
    ASSERT_EQ(m.slot_size(), 8);
    ASSERT_EQ(m.bin().size(), 8 * bins);
    std::size_t payload = 0;
    for (std::size_t i = 0; i < m.bin().size(); ++i) {
        const std::size_t b = i % bins;
        const std::int64_t k = m.slot(static_cast<int>(i / bins)).air();
        const int at = static_cast<int>(i);
        EXPECT_EQ(k, 16 + 2 * static_cast<std::int64_t>(i / bins));
        EXPECT_EQ(m.slot(static_cast<int>(i / bins)).grant(), grant_of(k));
        EXPECT_EQ(m.bin()[i], static_cast<char>(b));
        EXPECT_EQ(m.bits_per_symbol()[i], static_cast<char>(b % 8 + 1));
        EXPECT_EQ(m.sn(at), 100U * static_cast<unsigned>(k) + b);
        EXPECT_EQ(m.snr_db(at), static_cast<float>(b));
        EXPECT_EQ(m.outcome()[i], b % 3 == 2 ? 3 : 1);
        EXPECT_EQ(m.whole()[i], 1);
        EXPECT_EQ(m.last()[i], 1);
        const int bits = b % 3 == 2 ? 0 : frame_payload_bits(profile, static_cast<int>(b % 8 + 1));
        ASSERT_EQ(m.payload_bits(at), static_cast<unsigned>(bits));
        for (int n = 0; n < (bits + 7) / 8; ++n)
            EXPECT_EQ(m.payload().at(payload++), static_cast<char>(k));
    }
    EXPECT_EQ(payload, m.payload().size());
    EXPECT_TRUE(m.nof_packets().empty()) << "known at the base station only";
}

TEST_F(link_frames, say_how_many_there_were_before) {
    std::uint64_t frames = 0;
    for (std::int64_t k = 1; k <= 60; ++k) {
        const auto bins = static_cast<std::size_t>(k % 5);
        log->add(received(k, bins), grant_of(k));
        log->slot_done(slot(k));
        if (k % 15 != 0) continue;
        const FrameBatch& m = message(static_cast<std::size_t>(k / 15 - 1));
        EXPECT_EQ(m.frames_before(), frames);
        frames += m.bin().size();
    }
    EXPECT_EQ(frames, 60U / 5 * (1 + 2 + 3 + 4));
}

TEST_F(link_frames, that_wait_at_the_end_are_published) {
    log->add(received(1, 3), grant_of(1));
    log->slot_done(slot(1));
    EXPECT_TRUE(out.of(topic::frames).empty());
    log.reset();
    ASSERT_EQ(out.of(topic::frames).size(), 1U);
    EXPECT_EQ(message(0).bin().size(), 3U);
}

TEST_F(link_frames, of_a_run_of_any_length_all_come_out_when_it_is_flushed) {
    for (std::int64_t slots = 1; slots <= 45; ++slots) {
        telemetry_spy watched;
        watched.want(topic::frames);
        frame_log one(watched, profile);
        for (std::int64_t k = 1; k <= slots; ++k) {
            one.add(received(k, 3), grant_of(k));
            one.slot_done(slot(k));
        }
        one.flush();
        one.flush();
        std::uint64_t frames = 0;
        for (const auto& m : watched.of(topic::frames)) {
            EXPECT_EQ(m.frames().frames_before(), frames);
            frames += m.frames().bin().size();
        }
        EXPECT_EQ(frames, 3U * static_cast<unsigned>(slots));
        EXPECT_EQ(watched.of(topic::frames).size(), static_cast<std::size_t>(slots + 14) / 15);
    }
}

TEST(emulated_cell, has_published_all_of_a_run_of_any_length_when_it_ends) {
    config::settings s(emulator::emulator_keys());
    s.merge_assignment("link.bins=25");
    const auto config = emulator::translate(s);
    const auto packet = ip_packet(200);
    for (const std::int64_t slots : {20, 37, 45, 46}) {
        telemetry_spy at_base, at_terminal;
        for (const topic t : {topic::packet, topic::frames, topic::ip}) {
            at_base.want(t);
            at_terminal.want(t);
        }
        std::size_t frames = 0, delivered = 0, recorded = 0;
        {
            emulator::emulated_cell cell(config.cell, emulator::make_sources(config));
            emulator::emulator_telemetry topics(cell, at_base, at_terminal, config.cell.cell, 5000);
            using side = emulator::emulated_cell::side;
            cell.deliver_to(
                [&](side to, int user, std::span<const std::uint8_t> p, std::int64_t due) {
                    topics.passed(to, user, ip_log::way::out, p, due);
                    ++delivered;
                });
            for (slot k; k.value < slots; ++k) {
                topics.passed(side::server, 0, ip_log::way::in, packet, slot_start_ns(k));
                cell.into_queue(0, packet);
                topics.prepare(k);
                cell.run_slot(k);
                for (const auto& p : cell.plan(0).payload) frames += p.empty() ? 0 : 1;
                cell.release(INT64_MAX);
                topics.publish(k);
            }
            recorded = cell.packet_totals().recorded;
        }
        std::size_t published = 0, read = 0, written = 0, records = 0;
        for (const auto& m : at_base.of(topic::frames)) published += m.frames().bin().size();
        for (const auto& m : at_base.of(topic::ip))
            read += static_cast<std::size_t>(m.ip().packet_size());
        for (const auto& m : at_terminal.of(topic::ip))
            written += static_cast<std::size_t>(m.ip().packet_size());
        for (const auto& m : at_base.of(topic::packet))
            records += static_cast<std::size_t>(m.packets().packet_size());
        EXPECT_GT(recorded, 10U);
        EXPECT_EQ(published, frames);
        EXPECT_EQ(read, static_cast<std::size_t>(slots));
        EXPECT_EQ(written, delivered);
        EXPECT_EQ(records, recorded);
    }
}

}  // namespace
}  // namespace wip::host
