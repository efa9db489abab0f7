// SPDX-License-Identifier: GPL-3.0-or-later
// The capacity of the link in the profile of the literature, to the bit (Alfredsson 2012, equations
// 5.2 to 5.4, tables 5.2 to 5.7): error-free channel, 1500-byte packets, every packet starts a
// frame.
#include <gtest/gtest.h>

#include <array>

#include "link/base_station_mac.h"
#include "link/terminal_mac.h"
#include "traffic.h"

namespace wip::sim {
namespace {

constexpr int packet_bits = 12000;

struct outcome {
    std::uint64_t packets = 0;
    std::array<std::uint64_t, 9> frames{};
};

// A saturated link for `slots` slots; every frame arrives.
outcome run(const link_config& config, const std::array<float, nof_bins>& snr_db, int slots) {
    base_station_mac base(config);
    terminal_mac terminal(config, [](std::span<const std::uint8_t>, bool) {});
    slot_feedback start;
    start.locked = start.grant_ok = true;
    start.predicted_snr_db = snr_db;
    for (int j = 0; j < config.retransmission_delay_slots; ++j) {
        start.air = slot(j);
        base.on_feedback(start);
    }
    std::uint32_t number = 1;
    for (int i = 0; i < slots; ++i) {
        const slot now(config.retransmission_delay_slots + i);
        while (base.on_sdu(make_packet(number, {}), now)) ++number;
        slot_plan plan = base.plan(now);
        slot_report report;
        report.air = now;
        report.locked = report.grant_ok = true;
        report.grant = plan.grant;
        report.predicted_snr_db = snr_db;
        for (std::size_t b = 0; b < nof_bins; ++b) {
            if (plan.grant.bins[b].bits_per_symbol == 0) continue;
            report.outcome[b] = frame_outcome::good;
            report.payload[b] = std::move(plan.payload[b]);
        }
        base.on_feedback(terminal.on_slot(report));
    }
    return {terminal.statistics().delivered.packets, base.statistics().modulation};
}

link_config wipemu(int bins) {
    link_config c;
    c.profile = link_profile::wipemu;
    c.packing = false;
    c.bins = bins;
    c.switch_table = switch_table_kind::nmse_0;
    return c;
}

TEST(WipemuCapacity, FixedModulationCarriesTheFormulaLessTheTruncationExactly) {
    std::array<float, nof_bins> snr;
    snr.fill(40.0F);
    const int seconds = 2, slots = 1500 * seconds;
    for (const int bins : {1, 13, 25})
        for (int k = 1; k <= 8; ++k) {
            link_config c = wipemu(bins);
            c.modulation = k;
            const outcome o = run(c, snr, slots);
            const int frame = 108 * k;
            const int truncation = frame - packet_bits % frame;  // (5.4), in bits
            // (5.2) bits a second, all of them used:
            const std::uint64_t theory = 1500ULL * static_cast<unsigned>(bins * frame);
            EXPECT_EQ(o.frames[static_cast<std::size_t>(k)] * static_cast<unsigned>(frame),
                      theory * seconds);
            // Data and truncation together are the theory, but for the packet on its way at the
            // end.
            const auto per_packet = static_cast<std::uint64_t>(packet_bits + truncation);
            EXPECT_EQ(o.packets, theory * seconds / per_packet) << bins << " bins, k = " << k;
        }
}

TEST(WipemuCapacity, TheFormulaGivesTheNumbersOfTable52) {
    for (int k = 1; k <= 8; ++k) EXPECT_EQ(1500 * 25 * frame_bits(k), 4050000 * k);
    EXPECT_EQ(frame_payload_bits(link_profile::wipemu, 8), 864);
}

// Section 5.4, adaptive modulation: SNRs in the middle of the eight switching intervals, the last
// bin unused. The intervals of our table hold the same SNRs.
TEST(WipemuCapacity, AdaptiveModulationOverTheLiteraturesChannelTruncates312BitsAPacket) {
    constexpr std::array<float, 8> levels{8, 12, 15, 18, 22, 25, 28, 32};
    std::array<float, nof_bins> snr{};
    for (std::size_t b = 0; b < 24; ++b) snr[b] = levels[b % 8];
    const int slots = 1900;
    const outcome o = run(wipemu(24), snr, slots);
    for (std::size_t k = 1; k <= 8; ++k) EXPECT_EQ(o.frames[k], 3U * slots) << k;
    // Six packets take 6 (12000 + 312) bits = 19 rounds of 3888 bits over the eight levels.
    EXPECT_EQ(o.packets, static_cast<std::uint64_t>(slots) * 3 * 3888 / (packet_bits + 312));
    EXPECT_EQ(o.packets, 1800U);
}

TEST(WipemuCapacity, WithPackingNothingIsTruncated) {
    std::array<float, nof_bins> snr;
    snr.fill(40.0F);
    for (int k = 1; k <= 8; ++k) {
        link_config c = wipemu(25);
        c.packing = true;
        c.modulation = k;
        const outcome o = run(c, snr, 1500);
        EXPECT_EQ(o.packets, 4050000ULL * static_cast<unsigned>(k) / packet_bits) << k;
    }
}

TEST(WipemuCapacity, TheRadioProfileCostsTwentyFourBitsAFrame) {
    std::array<float, nof_bins> snr;
    snr.fill(40.0F);
    for (int k = 1; k <= 8; ++k) {
        link_config c = wipemu(25);
        c.profile = link_profile::radio;
        c.packing = true;
        c.modulation = k;
        const outcome o = run(c, snr, 1500);
        EXPECT_EQ(o.packets, 37500ULL * static_cast<unsigned>(108 * k - 24) / packet_bits) << k;
    }
}

}  // namespace
}  // namespace wip::sim
