// SPDX-License-Identifier: GPL-3.0-or-later
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "types/grant.h"

namespace {
using namespace wip;

slot_grant random_grant(std::mt19937& rng, int retransmissions) {
    slot_grant g;
    g.frame_number = static_cast<std::uint16_t>(rng() % frame_number_modulus);
    g.first_new_sn = static_cast<wire_sn>(rng());
    g.window_edge = static_cast<std::uint16_t>(rng() % (max_window + 1));
    wire_sn next = g.first_new_sn;
    for (auto& b : g.bins) {
        b.bits_per_symbol = static_cast<std::uint8_t>(rng() % 9);
        if (b.bits_per_symbol == 0) continue;
        if (retransmissions > 0 && rng() % 3 == 0) {
            --retransmissions;
            b.retransmission = true;
            b.sn = static_cast<wire_sn>(g.first_new_sn - 1 - rng() % 200);
            b.whole = rng() % 2 == 0;
            if (!b.whole) {
                b.offset = static_cast<std::uint8_t>(rng());
                b.last = rng() % 2 == 0;
            }
        } else {
            b.sn = next++;
        }
    }
    return g;
}

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
    return bits;
}

TEST(grant, every_grant_whose_bits_fit_packs_and_comes_back_the_same) {
    std::mt19937 rng(1);
    int refused = 0;
    for (int i = 0; i < 20000; ++i) {
        const auto g = random_grant(rng, i % 6);
        std::array<std::uint8_t, grant_bytes> bits;
        const bool fits = content_bits(g) <= 8 * grant_bytes;
        ASSERT_EQ(pack_grant(g, link_profile::radio, bits), fits) << content_bits(g);
        refused += fits ? 0 : 1;
        if (!fits) continue;
        const auto back = unpack_grant(bits, link_profile::radio);
        ASSERT_TRUE(back.has_value());
        ASSERT_EQ(*back, g);
    }
    EXPECT_GT(refused, 100);  // scattered retransmissions do not always fit
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

}  // namespace
