// SPDX-License-Identifier: GPL-3.0-or-later
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "random_grant.h"
#include "types/grant.h"
#include "types/uplink_grant.h"

namespace {
using namespace wip;

int log2_of(int n) { return static_cast<int>(std::ceil(std::log2(n))); }

// Content by the table in types/grant.h, counted apart from the code that writes it.
int content_bits(const slot_grant& g) {
    const auto gamma = [](int n) { return 2 * static_cast<int>(std::log2(n)) + 1; };
    int bits = 12 + 16 + 15 + 80;
    const bin_grant* before = nullptr;
    for (const auto& b : g.bins) {
        if (b.bits_per_symbol == 0) continue;
        ++bits;
        if (!b.retransmission) continue;
        if (before == nullptr) {
            bits += gamma(static_cast<wire_sn>(g.first_new_sn - b.sn));
        } else {
            const int step = static_cast<std::int16_t>(b.sn - before->sn) - 1;
            bits += gamma((step >= 0 ? 2 * step : -2 * step - 1) + 1);
        }
        const bool follows = before != nullptr && before->sn == b.sn && !before->whole &&
                             b.offset == before->offset + 27 * before->bits_per_symbol - 6;
        bits += b.whole ? 1 : follows ? 3 : 11;
        before = &b;
    }
    int fresh = 0, with_boundary = 0, without = 0;
    for (const auto& b : g.bins) {
        if (b.bits_per_symbol == 0 || b.retransmission) continue;
        ++fresh;
        if (b.boundary == unknown_boundary) continue;
        ++with_boundary;
        ++without;
        if (b.boundary == no_boundary) continue;
        bits += gamma(without) + 1;
        if (b.boundary != 0) bits += log2_of(27 * b.bits_per_symbol - 6);
        without = 0;
    }
    if (without > 0) bits += gamma(without + 1);
    if (with_boundary > 0) bits += with_boundary == fresh ? 2 : 7;
    if (with_boundary == 0 && fresh > 0 && g.runs[0].frames > 0) bits += 1;
    int at = g.first_new_sn;
    for (const auto& run : g.runs) {
        if (run.frames == 0) break;
        const int from = static_cast<wire_sn>(run.first);
        const int step = static_cast<wire_sn>(&run == g.runs.data() ? at - from : from - at);
        bits += 1 + gamma(step) + gamma(run.frames);
        bits += run.boundary == no_boundary ? 1 : run.boundary == 0 ? 2 : 10;
        at = static_cast<wire_sn>(run.first + run.frames - 1);
    }
    return bits;
}

TEST(grant, every_grant_whose_bits_fit_packs_and_comes_back_the_same) {
    std::mt19937 rng(1);
    int refused = 0;
    for (int i = 0; i < 20000; ++i) {
        const auto g = random_grant(rng, i % 6);
        std::array<std::uint8_t, grant_bytes> bits;
        const bool fits = content_bits(g) <= 8 * grant_bytes;
        ASSERT_EQ(grant_bits(g, link_profile::radio), content_bits(g));
        ASSERT_EQ(pack_grant(g, link_profile::radio, bits), fits) << content_bits(g);
        refused += fits ? 0 : 1;
        if (!fits) continue;
        const auto back = unpack_grant(bits, link_profile::radio);
        ASSERT_TRUE(back.has_value());
        ASSERT_EQ(*back, g);
    }
    EXPECT_GT(refused, 100);  // scattered retransmissions do not always fit
}

TEST(grant, another_frame_number_can_be_set_in_a_packed_grant) {
    std::mt19937 rng(4);
    for (int i = 0; i < 1000; ++i) {
        slot_grant g = random_grant(rng, 2);
        packed_grant packed, again;
        if (!pack_grant(g, link_profile::radio, packed)) continue;
        g.frame_number = static_cast<std::uint16_t>(rng() % frame_number_modulus);
        ASSERT_TRUE(pack_grant(g, link_profile::radio, again));
        set_frame_number(packed, g.frame_number);
        EXPECT_EQ(packed, again);
    }
}

TEST(grant, a_full_slot_of_consecutive_retransmissions_fits) {
    slot_grant g;
    g.first_new_sn = 100;
    for (int i = 0; i < nof_bins; ++i) {
        auto& b = g.bins[static_cast<std::size_t>(i)];
        b.bits_per_symbol = 8;
        b.retransmission = true;
        b.sn = static_cast<wire_sn>(25 + i);
    }
    std::array<std::uint8_t, grant_bytes> bits;
    ASSERT_TRUE(pack_grant(g, link_profile::radio, bits));
    EXPECT_EQ(unpack_grant(bits, link_profile::radio), g);
}

TEST(grant, boundaries_of_a_full_slot_of_new_frames_fit) {
    for (int k = 1; k <= 8; ++k) {
        slot_grant g;
        for (std::size_t b = 0; b < nof_bins; ++b) {
            g.bins[b].bits_per_symbol = static_cast<std::uint8_t>(k);
            g.bins[b].sn = static_cast<wire_sn>(b);
            g.bins[b].boundary = b % 7 == 3 ? std::uint8_t{20} : no_boundary;  // four packets begin
        }
        std::array<std::uint8_t, grant_bytes> bits;
        ASSERT_TRUE(pack_grant(g, link_profile::radio, bits));
        EXPECT_EQ(unpack_grant(bits, link_profile::radio), g);
    }
}

// While no boundary is to be sent, the format is that of a grant without boundaries.
TEST(grant, without_boundaries_the_rest_is_zeros) {
    slot_grant g;
    for (auto& b : g.bins) b.bits_per_symbol = 8;
    std::array<std::uint8_t, grant_bytes> bits;
    ASSERT_TRUE(pack_grant(g, link_profile::radio, bits));
    EXPECT_EQ(grant_bits(g, link_profile::radio), 123 + 25);
    for (std::size_t i = 19; i < bits.size(); ++i) EXPECT_EQ(bits[i], 0);
}

TEST(grant, what_could_not_have_been_written_is_refused) {
    slot_grant g;
    g.first_new_sn = 100;
    g.bins[0].bits_per_symbol = 1;
    g.bins[0].sn = 100;
    // At bit 124 all new frames have been described; what follows is wrong.
    const auto with = [&](std::initializer_list<std::pair<std::uint32_t, int>> fields) {
        std::array<std::uint8_t, grant_bytes> bits;
        EXPECT_TRUE(pack_grant(g, link_profile::radio, bits));
        std::array<std::uint8_t, grant_bytes> tail;
        bit_writer w(tail);
        w.put(0, 124 - 4 * 31);
        w.put(0, 31), w.put(0, 31), w.put(0, 31), w.put(0, 31);
        for (const auto& [value, n] : fields) w.put(value, n);
        for (std::size_t i = 0; i < bits.size(); ++i) bits[i] |= tail[i];
        return unpack_grant(bits, link_profile::radio).has_value();
    };
    EXPECT_TRUE(with({{2, 2}, {1, 1}, {1, 1}, {5, 5}}));    // boundary at nibble 5
    EXPECT_FALSE(with({{2, 2}, {1, 1}, {1, 1}, {0, 5}}));   // nibble 0 in the long form
    EXPECT_FALSE(with({{2, 2}, {1, 1}, {1, 1}, {21, 5}}));  // beyond the frame
    EXPECT_FALSE(with({{2, 2}, {3, 3}, {1, 1}}));           // the third of one
    EXPECT_FALSE(with({{3, 2}, {1, 5}, {1, 1}}));           // the first 1 of 1
    EXPECT_TRUE(with({{1, 2}, {4, 5}, {2, 3}, {0, 1}}));    // a run of 2 from 4 before on
    EXPECT_FALSE(with({{1, 2}, {2, 3}, {3, 3}, {0, 1}}));   // a run of 3 from 2 before on
}

TEST(grant, too_many_scattered_retransmissions_are_refused) {
    slot_grant g;
    g.first_new_sn = 0;
    for (int i = 0; i < nof_bins; ++i) {
        auto& b = g.bins[static_cast<std::size_t>(i)];
        b.bits_per_symbol = 1;
        b.retransmission = true;
        b.sn = static_cast<wire_sn>(i % 2 ? 40000 : 60000);
        b.whole = false;
        b.offset = 1;
    }
    std::array<std::uint8_t, grant_bytes> bits;
    EXPECT_FALSE(pack_grant(g, link_profile::radio, bits));
}

// Two ways to write one grant are one too many: what is read is what pack_grant would write.
TEST(grant, what_is_read_is_written_alike) {
    std::mt19937 rng(3);
    int accepted = 0;
    for (int i = 0; i < 300000; ++i) {
        std::array<std::uint8_t, grant_bytes> bits{}, again;
        if (!pack_grant(random_grant(rng, 1 + i % 6), link_profile::radio, bits)) continue;
        for (int flips = static_cast<int>(rng() % 4); flips > 0; --flips) {
            const auto at = 123 + rng() % 117;  // behind the modulation
            bits[at / 8] ^= static_cast<std::uint8_t>(0x80 >> at % 8);
        }
        const auto g = unpack_grant(bits, link_profile::radio);
        if (!g) continue;
        ++accepted;
        ASSERT_TRUE(pack_grant(*g, link_profile::radio, again));
        ASSERT_EQ(bits, again);
    }
    EXPECT_GT(accepted, 50000);
}

TEST(grant, no_step_of_sequence_numbers_is_read_that_is_not_written) {
    for (const bool first : {true, false})
        for (std::uint32_t code = 1; code < 0x20000; ++code) {
            std::array<std::uint8_t, grant_bytes> bits{}, again;
            bit_writer w(bits);
            for (const int width : {12, 16, 15}) w.put(0, width);
            w.put(first ? 1 : 10, 16);  // one bin, or two, of one bit a symbol
            for (int group = 1; group < 5; ++group) w.put(0, 16);
            w.put(first ? 1 : 3, first ? 1 : 2);
            if (!first) {
                w.put_gamma(7);
                w.put(0, 1);
            }
            w.put_gamma(code);
            w.put(0, 1);
            ASSERT_TRUE(w.ok());
            const auto g = unpack_grant(bits, link_profile::radio);
            if (!g) continue;
            ASSERT_TRUE(pack_grant(*g, link_profile::radio, again));
            ASSERT_EQ(bits, again) << code;
        }
}

TEST(grant, random_bits_never_crash_and_are_nearly_always_refused) {
    std::mt19937 rng(2);
    int accepted = 0;
    for (int i = 0; i < 100000; ++i) {
        std::array<std::uint8_t, grant_bytes> bits;
        for (auto& b : bits) b = static_cast<std::uint8_t>(rng());
        if (unpack_grant(bits, link_profile::radio)) ++accepted;
    }
    EXPECT_LT(accepted, 100);
}

uplink_grant random_uplink_grant(std::mt19937& rng) {
    uplink_grant g;
    g.first_new_sn = static_cast<wire_sn>(rng());
    g.window_edge = static_cast<std::uint16_t>(rng() % (most_uplink_window + 1));
    g.bits_per_symbol = static_cast<std::uint8_t>(1 + rng() % 8);
    g.bins = static_cast<std::uint8_t>(rng() % (nof_bins + 1));
    g.timing_step = static_cast<std::int8_t>(static_cast<int>(rng() % 8) - 4);
    g.power_step_db = static_cast<std::int8_t>(static_cast<int>(rng() % 4) - 2);
    unsigned back = 1U + rng() % (g.window_edge + 1U);
    while (g.retransmissions < g.bins && back > 1 && rng() % 2 == 0) {
        back -= 1 + rng() % std::min(back - 1, 3U);
        g.sn[g.retransmissions++] = static_cast<wire_sn>(g.first_new_sn - back);
    }
    return g;
}

TEST(uplink_grant, reads_back_as_it_was_put_and_leaves_the_downlink_grant) {
    std::mt19937 rng(11);
    int put = 0, again = 0, without_room = 0;
    for (int i = 0; i < 20000; ++i) {
        const slot_grant down = random_grant(rng, static_cast<int>(rng() % 3));
        packed_grant alone;
        if (!pack_grant(down, link_profile::radio, alone)) continue;
        packed_grant both = alone;
        const uplink_grant up = random_uplink_grant(rng);
        if (!put_uplink_grant(up, both)) {
            EXPECT_EQ(both, alone);
            ++without_room;
            continue;
        }
        ++put;
        again += up.retransmissions > 1;
        EXPECT_EQ(both.back() & 1, 1);
        EXPECT_EQ(take_uplink_grant(both), up);
        EXPECT_EQ(both, alone);
        EXPECT_FALSE(take_uplink_grant(both));
    }
    EXPECT_GT(put, 5000);
    EXPECT_GT(again, 500);
    EXPECT_GT(without_room, 100);
}

TEST(uplink_grant, of_25_new_frames_and_two_of_the_oldest_retransmissions_fits) {
    packed_grant bits{};
    uplink_grant g{.first_new_sn = 3,
                   .window_edge = 31,
                   .bits_per_symbol = 8,
                   .bins = 25,
                   .retransmissions = 2};
    g.sn[0] = static_cast<wire_sn>(3 - 31);
    g.sn[1] = static_cast<wire_sn>(3 - 28);
    EXPECT_TRUE(put_uplink_grant(g, bits));
    EXPECT_EQ(take_uplink_grant(bits), g);
}

TEST(uplink_grant, spreads_few_bins_over_the_band_and_counts_their_units) {
    uplink_grant g{.first_new_sn = 65535, .window_edge = 9, .bits_per_symbol = 4, .bins = 5};
    g.retransmissions = 1;
    g.sn[0] = 65530;
    const slot_grant units = units_of(g);
    for (std::size_t b = 0; b < nof_bins; ++b)
        EXPECT_EQ(units.bins[b].bits_per_symbol, b % 5 == 0 ? 4 : 0);
    EXPECT_TRUE(units.bins[0].retransmission);
    EXPECT_EQ(units.bins[0].sn, 65530);
    EXPECT_EQ(units.bins[5].sn, 65535);
    EXPECT_EQ(units.bins[20].sn, 2);
    EXPECT_FALSE(units.bins[5].retransmission);
    for (std::uint8_t bins = 0; bins <= nof_bins; ++bins) {
        g.bins = bins;
        g.retransmissions = 0;
        int used = 0;
        for (const auto& b : units_of(g).bins) used += b.bits_per_symbol != 0;
        EXPECT_EQ(used, bins);
    }
}

TEST(uplink_grant, is_refused_where_a_field_is_out_of_its_range) {
    const auto fits = [](const uplink_grant& g) {
        packed_grant bits{};
        return put_uplink_grant(g, bits);
    };
    uplink_grant g{.first_new_sn = 100, .window_edge = 9, .bins = 2, .retransmissions = 2};
    g.sn[0] = 92;
    g.sn[1] = 99;
    EXPECT_TRUE(fits(g));
    const auto with = [&](auto change) {
        uplink_grant wrong = g;
        change(wrong);
        return wrong;
    };
    EXPECT_FALSE(fits(with([](auto& w) { w.window_edge = 512; })));
    EXPECT_FALSE(fits(with([](auto& w) { w.bits_per_symbol = 0; })));
    EXPECT_FALSE(fits(with([](auto& w) { w.bits_per_symbol = 9; })));
    EXPECT_FALSE(fits(with([](auto& w) { w.bins = 26; })));
    EXPECT_FALSE(fits(with([](auto& w) { w.bins = 1; })));
    EXPECT_FALSE(fits(with([](auto& w) { w.timing_step = 4; })));
    EXPECT_FALSE(fits(with([](auto& w) { w.power_step_db = -3; })));
    EXPECT_FALSE(fits(with([](auto& w) { w.sn[0] = 90; })));   // before the window
    EXPECT_FALSE(fits(with([](auto& w) { w.sn[1] = 100; })));  // not sent yet
    EXPECT_FALSE(fits(with([](auto& w) { w.sn[1] = 92; })));   // twice
}

// Bits that are read are those that would be put: no two forms say the same.
TEST(uplink_grant, that_nobody_put_is_refused) {
    std::mt19937 rng(12);
    int read = 0;
    for (int i = 0; i < 200000; ++i) {
        packed_grant bits{};
        for (std::size_t n = grant_bytes - uplink_grant_bytes; n < bits.size(); ++n)
            bits[n] = static_cast<std::uint8_t>(rng());
        if (rng() % 2 == 0) bits[28] = bits[29] = 0;
        bits.back() = static_cast<std::uint8_t>((bits.back() & 0xfc) | 1);  // a full one is there
        packed_grant left = bits, again{};
        const auto g = take_uplink_grant(left);
        EXPECT_EQ(left, packed_grant{});
        if (!g) continue;
        ++read;
        EXPECT_TRUE(put_uplink_grant(*g, again));
        EXPECT_EQ(again, bits);
    }
    EXPECT_GT(read, 1000);
}

}  // namespace
