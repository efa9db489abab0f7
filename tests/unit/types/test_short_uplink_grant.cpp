// SPDX-License-Identifier: GPL-3.0-or-later
// The short form of the uplink grant: its bits, the grant that it stands for, and what is refused.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "types/short_uplink_grant.h"

using namespace wip;

namespace {

short_uplink_grant random_short(std::mt19937& rng) {
    short_uplink_grant s;
    s.age = static_cast<std::uint8_t>(1 + rng() % longest_reference_age);
    s.advance = static_cast<std::uint8_t>(rng() % (most_short_advance + 1));
    if (rng() % 2 == 0) s.window_edge = static_cast<std::uint8_t>(rng() % (most_short_window + 1));
    if (rng() % 2 == 0)
        s.changed = {static_cast<std::uint8_t>(rng() % (nof_bins + 1)),
                     static_cast<std::uint8_t>(1 + rng() % 8)};
    if (rng() % 2 == 0) {
        s.timing_step = static_cast<std::int8_t>(static_cast<int>(rng() % 8) - 4);
        s.power_step_db = static_cast<std::int8_t>(static_cast<int>(rng() % 4) - 2);
    }
    const int bins = s.changed ? s.changed->bins : nof_bins;
    int back = 1 + (s.window_edge ? *s.window_edge : static_cast<int>(rng() % 60));
    while (s.retransmissions < bins && back > 1 && rng() % 2 == 0) {
        back -= 1 + static_cast<int>(rng() % static_cast<unsigned>(std::min(back - 1, 3)));
        s.back[s.retransmissions++] = static_cast<std::uint16_t>(back);
    }
    return s;
}

// So many bits of a downlink grant, and zeros behind them.
packed_grant some_bits(std::mt19937& rng, int bits) {
    packed_grant out{};
    bit_writer w(out);
    for (int i = 0; i < bits; ++i) w.put(rng() & 1U, 1);
    return out;
}

bool fits(const short_uplink_grant& s) {
    packed_grant bits{};
    return put_uplink_command(s, bits);
}

const uplink_reference reference{1000, {5, 4}};

}  // namespace

TEST(short_uplink_grant, has_18_bits_where_nothing_is_different) {
    EXPECT_EQ(bits_of(short_uplink_grant{}), least_short_bits);
    EXPECT_EQ(bits_of(uplink_command(short_uplink_grant{})), 18);
    EXPECT_EQ(bits_of(uplink_command(uplink_grant{})), 56);
    short_uplink_grant s;
    s.changed = {3, 2};
    EXPECT_EQ(bits_of(s), least_short_bits + short_allocation_bits);
}

TEST(short_uplink_grant, is_read_from_the_last_bit_backwards) {
    packed_grant bits{};
    short_uplink_grant s;
    s.age = 3;       // 00010
    s.advance = 10;  // 0001010
    ASSERT_TRUE(put_uplink_command(s, bits));
    // Backwards 11 00010 0001010 0 0 0 1, so forwards 1 0 0 0 0101000 01000 11.
    packed_grant expected{};
    expected[27] = 0b00000010;
    expected[28] = 0b00010100;
    expected[29] = 0b00100011;
    EXPECT_EQ(bits, expected);
}

TEST(short_uplink_grant, reads_back_as_it_was_put_and_leaves_the_downlink_grant) {
    std::mt19937 rng(21);
    int put = 0, again = 0, without_room = 0;
    for (int i = 0; i < 50000; ++i) {
        const short_uplink_grant s = random_short(rng);
        const int own = 150 + static_cast<int>(rng() % 80);
        const packed_grant alone = some_bits(rng, own);
        packed_grant both = alone;
        if (!put_uplink_command(s, both)) {
            EXPECT_EQ(both, alone);
            EXPECT_GT(own + bits_of(s), 184);
            ++without_room;
            continue;
        }
        ++put;
        again += s.retransmissions > 1;
        EXPECT_EQ(both.back() & 3, 3);
        EXPECT_FALSE(take_uplink_grant(both));  // it is no full one
        const auto taken = take_uplink_command(both);
        ASSERT_TRUE(taken);
        EXPECT_EQ(*taken, uplink_command(s));
        EXPECT_EQ(both, alone);
    }
    EXPECT_GT(put, 20000);
    EXPECT_GT(again, 3000);
    EXPECT_GT(without_room, 1000);
}

TEST(short_uplink_grant, fits_wherever_the_downlink_grant_leaves_its_bits) {
    std::mt19937 rng(22);
    for (int i = 0; i < 5000; ++i) {
        const short_uplink_grant s = random_short(rng);
        if (bits_of(s) > most_short_bits) {
            EXPECT_FALSE(fits(s));
            continue;
        }
        packed_grant bits = some_bits(rng, 240 - bits_of(s));
        EXPECT_TRUE(put_uplink_command(s, bits));
    }
}

TEST(short_uplink_grant, a_full_command_is_the_full_grant) {
    const uplink_grant g{
        .first_new_sn = 9, .window_edge = 3, .bits_per_symbol = 2, .bins = 4, .timing_step = -4};
    packed_grant bits{}, same{};
    ASSERT_TRUE(put_uplink_command(g, bits));
    ASSERT_TRUE(put_uplink_grant(g, same));
    EXPECT_EQ(bits, same);
    EXPECT_EQ(bits.back() & 3, 1);
    EXPECT_EQ(take_uplink_command(bits), uplink_command(g));
    EXPECT_EQ(bits, packed_grant{});
    EXPECT_FALSE(take_uplink_command(bits));
}

TEST(short_uplink_grant, stands_for_the_grant_from_which_it_was_made) {
    std::mt19937 rng(23);
    int made = 0, unchanged = 0;
    for (int i = 0; i < 50000; ++i) {
        uplink_grant g;
        g.first_new_sn = static_cast<wire_sn>(rng());
        g.window_edge = static_cast<std::uint16_t>(rng() % 140);
        g.bins = static_cast<std::uint8_t>(rng() % 3 == 0 ? 5 : rng() % (nof_bins + 1));
        g.bits_per_symbol = static_cast<std::uint8_t>(rng() % 3 == 0 ? 1 + rng() % 8 : 4);
        g.timing_step = static_cast<std::int8_t>(static_cast<int>(rng() % 8) - 4);
        unsigned back = 1U + g.window_edge;
        while (g.retransmissions < g.bins && back > 1 && rng() % 2 == 0) {
            back -= 1 + rng() % std::min(back - 1, 3U);
            g.sn[g.retransmissions++] = static_cast<wire_sn>(g.first_new_sn - back);
        }
        const std::int64_t age = rng() % 36;
        const unsigned advance = rng() % 140;
        const uplink_reference before{static_cast<wire_sn>(g.first_new_sn - advance), {5, 4}};
        const bool say_edge = rng() % 2 == 0;
        const auto s = shortened(g, before, age, say_edge);
        const bool possible =
            age >= 1 && age <= 32 && advance <= 127 && (!say_edge || g.window_edge <= 127);
        ASSERT_EQ(s.has_value(), possible);
        if (!s) continue;
        ++made;
        unchanged += !s->changed;
        const auto edge = static_cast<wire_sn>(g.first_new_sn - g.window_edge);
        EXPECT_EQ(expanded(*s, before, say_edge ? wire_sn{0} : edge), g);
    }
    EXPECT_GT(made, 20000);
    EXPECT_GT(unchanged, 1000);
}

TEST(short_uplink_grant, that_does_not_go_with_its_reference_is_refused) {
    short_uplink_grant s;
    s.advance = 10;
    EXPECT_TRUE(expanded(s, reference, 990));
    EXPECT_TRUE(expanded(s, reference, 1010 - 511));
    EXPECT_FALSE(expanded(s, reference, 1010 - 512));  // a window that no grant has
    EXPECT_FALSE(expanded(s, reference, 1011));        // the edge is behind the new frames
    s.changed = reference.allocated;                   // said, though it is the same
    EXPECT_FALSE(expanded(s, reference, 990));
    s.changed = {6, 4};
    EXPECT_TRUE(expanded(s, reference, 990));
    s.changed.reset();
    s.retransmissions = 1;
    s.back[0] = 20;
    EXPECT_TRUE(expanded(s, reference, 990));
    s.back[0] = 21;  // before the window
    EXPECT_FALSE(expanded(s, reference, 990));
    s.retransmissions = 6;  // of 5 bins
    for (std::uint16_t i = 0; i < 6; ++i) s.back[i] = static_cast<std::uint16_t>(6 - i);
    EXPECT_FALSE(expanded(s, reference, 990));
}

TEST(short_uplink_grant, is_refused_where_a_field_is_out_of_its_range) {
    short_uplink_grant s;
    s.window_edge = 9;
    s.changed = {2, 4};
    s.retransmissions = 2;
    s.back[0] = 9;
    s.back[1] = 1;
    EXPECT_TRUE(fits(s));
    const auto with = [&](auto change) {
        short_uplink_grant wrong = s;
        change(wrong);
        return fits(wrong);
    };
    EXPECT_FALSE(with([](auto& w) { w.age = 0; }));
    EXPECT_FALSE(with([](auto& w) { w.age = 33; }));
    EXPECT_FALSE(with([](auto& w) { w.advance = 128; }));
    EXPECT_FALSE(with([](auto& w) { w.window_edge = 128; }));
    EXPECT_FALSE(with([](auto& w) { w.changed->bins = 26; }));
    EXPECT_FALSE(with([](auto& w) { w.changed->bins = 1; }));
    EXPECT_FALSE(with([](auto& w) { w.changed->bits_per_symbol = 0; }));
    EXPECT_FALSE(with([](auto& w) { w.changed->bits_per_symbol = 9; }));
    EXPECT_FALSE(with([](auto& w) { w.timing_step = 4; }));
    EXPECT_FALSE(with([](auto& w) { w.timing_step = -5; }));
    EXPECT_FALSE(with([](auto& w) { w.power_step_db = 2; }));
    EXPECT_FALSE(with([](auto& w) { w.power_step_db = -3; }));
    EXPECT_FALSE(with([](auto& w) { w.back[0] = 10; }));  // before the window
    EXPECT_FALSE(with([](auto& w) { w.back[1] = 9; }));   // twice
    EXPECT_FALSE(with([](auto& w) { w.back[1] = 0; }));   // not sent yet
    EXPECT_FALSE(with([](auto& w) {                       // longer than 56 bits
        w.changed = {25, 4};
        w.window_edge = 127;
        w.retransmissions = 6;
        for (std::uint16_t i = 0; i < 6; ++i) w.back[i] = static_cast<std::uint16_t>(120 - 16 * i);
    }));
}

// Bits that are read are those that would be put: no two forms say the same. What is refused stays.
TEST(short_uplink_grant, that_nobody_put_is_refused) {
    std::mt19937 rng(24);
    int read = 0, refused = 0;
    for (int i = 0; i < 200000; ++i) {
        packed_grant bits{};
        for (std::size_t n = grant_bytes - uplink_grant_bytes; n < bits.size(); ++n)
            bits[n] = static_cast<std::uint8_t>(rng());
        bits.back() |= 3;
        packed_grant left = bits;
        const auto c = take_uplink_command(left);
        if (!c) {
            ++refused;
            EXPECT_EQ(left, bits);
            continue;
        }
        ++read;
        ASSERT_TRUE(std::holds_alternative<short_uplink_grant>(*c));
        EXPECT_TRUE(put_uplink_command(*c, left));
        EXPECT_EQ(left, bits);
    }
    EXPECT_GT(read, 1000);
    EXPECT_GT(refused, 1000);
}
