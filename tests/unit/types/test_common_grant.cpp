// SPDX-License-Identifier: GPL-3.0-or-later
#include <gtest/gtest.h>

#include <bit>
#include <random>

#include "random_grant.h"
#include "types/common_grant.h"

namespace {
using namespace wip;

constexpr auto radio = link_profile::radio;

// Up to eight terminals with bins of their own.
struct several {
    std::array<slot_grant, most_terminals> grant{};
    common_grant_sections sections;

    several(std::mt19937& rng, int most_served) {
        sections.frame_number = static_cast<std::uint16_t>(rng() % frame_number_modulus);
        std::array<std::uint32_t, most_terminals> bins{};
        const auto first = rng() % most_terminals;
        const auto served = 1 + rng() % static_cast<unsigned>(most_served);
        for (int b = 0; b < nof_bins; ++b)
            bins[(first + rng() % served) % most_terminals] |= 1U << b;
        for (std::size_t t = 0; t < most_terminals; ++t) {
            if (bins[t] == 0) continue;
            grant[t] = random_grant(rng, static_cast<int>(rng() % 3), bins[t]);
            grant[t].frame_number = sections.frame_number;
            grant[t].edge_said = rng() % 4 == 0 || !detail::any_frame(grant[t]);
            if (!grant[t].edge_said) grant[t].window_edge = 0;
            sections.of[t] = &grant[t];
        }
    }
};

// A short section says the first SN modulo 256, and all others are read from there.
slot_grant as_read(slot_grant g) {
    if (!g.edge_said) move_sns(g, g.first_new_sn % short_sn_modulus);
    return g;
}

common_grant nobody(std::uint16_t frame_number) {
    common_grant g;
    g.frame_number = frame_number;
    for (auto& s : g.of) {
        s.frame_number = frame_number;
        s.addressed = s.edge_said = false;
    }
    return g;
}

// By the table in types/common_grant.h, counted apart from the code that writes it, but for the
// lists that a section shares with the grant of one terminal.
int content_bits(const several& s) {
    int served = 0, bits = 12 + 8 + 80;
    for (const slot_grant* g : s.sections.of) served += g != nullptr;
    for (int place = 0; const slot_grant* g : s.sections.of) {
        if (g == nullptr) continue;
        const int k = std::bit_width(static_cast<unsigned>(served)) - 1;
        const int owner = place < (2 << k) - served ? k : k + 1;
        ++place;
        int used = 0, again = 0;
        for (const auto& b : g->bins) {
            used += b.bits_per_symbol != 0;
            again += b.bits_per_symbol != 0 && b.retransmission;
        }
        bits += used * owner + 1 + (g->edge_said ? 16 + 15 : 8) + 1 + 1;
        bits += grant_bits(*g, radio) - (12 + 16 + 15 + 80);
        if (again == 0) bits -= used;  // with no flags set
        const bool edge_reported =
            used > again && (g->runs[0].frames > 0 || [&] {
                for (const auto& b : g->bins)
                    if (b.bits_per_symbol != 0 && b.boundary != unknown_boundary) return true;
                return false;
            }());
        bits += used > again &&
                !edge_reported;  // the zero bit that a grant for one terminal does not have
    }
    return bits;
}

TEST(common_grant, every_grant_whose_bits_fit_packs_and_comes_back_the_same) {
    std::mt19937 rng(1);
    int packed = 0, refused = 0;
    for (int i = 0; i < 3000; ++i) {
        const several s(rng, 1 + i % most_terminals);
        packed_grant bits;
        const bool fits = content_bits(s) <= 8 * grant_bytes;
        ASSERT_EQ(common_grant_bits(s.sections, radio), content_bits(s));
        ASSERT_EQ(pack_common_grant(s.sections, radio, bits), fits);
        (fits ? packed : refused) += 1;
        if (!fits) continue;
        const auto back = unpack_common_grant(bits, radio);
        ASSERT_TRUE(back.has_value());
        const common_grant none = nobody(s.sections.frame_number);
        EXPECT_EQ(back->frame_number, s.sections.frame_number);
        for (std::size_t t = 0; t < most_terminals; ++t)
            ASSERT_EQ(back->of[t], s.sections.of[t] != nullptr ? as_read(s.grant[t]) : none.of[t])
                << t;
    }
    EXPECT_GT(packed, 500);
    EXPECT_GT(refused, 200);
}

TEST(common_grant, a_slot_without_frames_names_nobody) {
    packed_grant bits;
    ASSERT_TRUE(pack_common_grant({.frame_number = 77, .of = {}}, radio, bits));
    const auto back = unpack_common_grant(bits, radio);
    ASSERT_TRUE(back.has_value());
    for (const auto& g : back->of) EXPECT_FALSE(g.addressed);
    packed_grant moved = bits;
    set_frame_number(moved, 78);
    EXPECT_EQ(unpack_common_grant(moved, radio)->frame_number, 78);
}

// New frames in all bins, nothing said of boundaries or edges: bits left for these and for
// retransmissions. How many terminals a slot should serve follows from it.
TEST(common_grant, room_for_lists_by_the_number_of_terminals_served) {
    const std::array<int, 4> left{128, 91, 63, 42};
    for (std::size_t served = 1; served <= left.size(); ++served) {
        std::array<slot_grant, most_terminals> g{};
        common_grant_sections s;
        for (std::size_t t = 0; t < served; ++t) {
            g[t].edge_said = false;
            for (std::size_t b = t; b < nof_bins; b += served) g[t].bins[b].bits_per_symbol = 4;
            s.of[t] = &g[t];
        }
        EXPECT_EQ(8 * grant_bytes - common_grant_bits(s, radio), left[served - 1]);
    }
}

TEST(common_grant, a_short_sequence_number_is_the_first_one_from_the_last_on) {
    for (const int before : {0, 1, 255, 256, 4711, 65535})
        for (int step = 0; step < short_sn_modulus; ++step) {
            const auto sn = static_cast<wire_sn>(before + step);
            ASSERT_EQ(long_sn(sn % short_sn_modulus, static_cast<wire_sn>(before)), sn);
        }
    std::mt19937 rng(5);
    for (int i = 0; i < 300; ++i) {
        slot_grant g = random_grant(rng, 3);
        g.edge_said = false;
        slot_grant read = as_read(g);
        move_sns(read, long_sn(read.first_new_sn, static_cast<wire_sn>(g.first_new_sn - i % 256)));
        ASSERT_EQ(read, g);
    }
}

TEST(common_grant, a_section_that_says_nothing_is_refused) {
    slot_grant g;
    g.edge_said = false;
    common_grant_sections s;
    s.of[3] = &g;
    packed_grant bits;
    ASSERT_TRUE(pack_common_grant(s, radio, bits));
    EXPECT_FALSE(unpack_common_grant(bits, radio).has_value());
    g.edge_said = true;
    ASSERT_TRUE(pack_common_grant(s, radio, bits));
    EXPECT_TRUE(unpack_common_grant(bits, radio).has_value());
}

TEST(common_grant, a_bin_in_use_has_an_owner) {
    packed_grant bits;
    bit_writer w(bits);
    w.put(0, 12 + 8);
    w.put(1, 16);  // bin 0 in use, nobody served
    EXPECT_FALSE(unpack_common_grant(bits, radio).has_value());
}

// Two ways to write one grant are one too many.
TEST(common_grant, what_is_read_is_written_alike) {
    std::mt19937 rng(3);
    int accepted = 0;
    for (int i = 0; i < 10000; ++i) {
        packed_grant bits, again;
        const several s(rng, 1 + i % 4);
        if (!pack_common_grant(s.sections, radio, bits)) continue;
        for (int flips = static_cast<int>(rng() % 4); flips > 0; --flips) {
            const auto at = 12 + rng() % 228;
            bits[at / 8] ^= static_cast<std::uint8_t>(0x80 >> at % 8);
        }
        const auto g = unpack_common_grant(bits, radio);
        if (!g) continue;
        ++accepted;
        common_grant_sections read{.frame_number = g->frame_number, .of = {}};
        for (std::size_t t = 0; t < most_terminals; ++t)
            if (g->of[t].addressed) read.of[t] = &g->of[t];
        ASSERT_TRUE(pack_common_grant(read, radio, again));
        ASSERT_EQ(bits, again);
    }
    EXPECT_GT(accepted, 1000);
}

// With a CRC of 16 bits, one in 10^8 random words is accepted where 6.6e-4 pass here.
TEST(common_grant, random_bits_never_crash_and_are_nearly_always_refused) {
    std::mt19937 rng(2);
    int accepted = 0;
    for (int i = 0; i < 40000; ++i) {
        packed_grant bits;
        for (auto& b : bits) b = static_cast<std::uint8_t>(rng());
        if (unpack_common_grant(bits, radio)) ++accepted;
    }
    EXPECT_LT(accepted, 26);
}

}  // namespace
