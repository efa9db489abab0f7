// SPDX-License-Identifier: GPL-3.0-or-later
#include <gtest/gtest.h>

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

TEST(grant, every_grant_that_packs_comes_back_the_same) {
    std::mt19937 rng(1);
    int packed = 0;
    for (int i = 0; i < 20000; ++i) {
        const auto g = random_grant(rng, i % 6);
        std::array<std::uint8_t, grant_bytes> bits;
        if (!pack_grant(g, link_profile::radio, bits)) continue;
        ++packed;
        const auto back = unpack_grant(bits, link_profile::radio);
        ASSERT_TRUE(back.has_value());
        ASSERT_EQ(*back, g);
    }
    EXPECT_GT(packed, 15000);  // scattered retransmissions do not always fit
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
