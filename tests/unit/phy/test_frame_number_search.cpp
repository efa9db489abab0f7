// SPDX-License-Identifier: GPL-3.0-or-later
// The frame number from grants of which none decodes.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "phy/coding/control_region.h"
#include "phy/coding/frame_number_search.h"

namespace {

using namespace wip;
using namespace wip::phy;

// Grants of slots in a row, through noise of 0 dB, where the code fails.
class frame_number_from : public testing::Test {
protected:
    static constexpr double noise_variance = 1;  // 0 dB
    std::mt19937 random{2};
    control_region region{9};
    frame_number_search search;
    std::array<float, code_sent_bits> ordered;
    int decoded = 0;

    void receive(int number, int slot_in_frame, bool anything = true) {
        slot_grant g;
        g.frame_number = static_cast<std::uint16_t>(number);
        g.first_new_sn = static_cast<wire_sn>(random());
        g.window_edge = static_cast<std::uint16_t>(random() % 1000);
        for (auto& b : g.bins) b.bits_per_symbol = static_cast<std::uint8_t>(random() % 9);
        std::array<std::uint8_t, grant_bytes> bits, got;
        ASSERT_TRUE(pack_grant(g, link_profile::radio, bits));
        control_symbols symbols, again;
        region.encode(bits, slot_in_frame, symbols);
        std::normal_distribution<float> noise(0, static_cast<float>(std::sqrt(noise_variance / 2)));
        std::array<float, code_sent_bits> soft;
        for (std::size_t i = 0; i < symbols.size(); ++i) {
            soft[2 * i] = (anything ? symbols[i].real() : 0) + noise(random);
            soft[2 * i + 1] = (anything ? symbols[i].imag() : 0) + noise(random);
        }
        region.order(soft, slot_in_frame, ordered);
        decoded += region.decode(ordered, slot_in_frame, {}, got, again);
    }
    std::optional<std::uint16_t> add(std::int64_t frames) {
        return search.add(ordered, static_cast<float>(2 * std::sqrt(2) / noise_variance), frames);
    }
};

TEST_F(frame_number_from, some_slots_is_right_also_over_the_end_of_frame_and_count) {
    int slots_needed = 0;
    for (int trial = 0; trial < 60; ++trial) {
        search.reset();
        const int begin = trial % 3 == 0 ? 4095 : static_cast<int>(random() % 4096);
        bool found = false;
        for (int i = 28; i < 90 && !found; ++i) {
            receive((begin + i / 30) % 4096, i % 30);
            const auto number = add(i / 30);
            ++slots_needed;
            found = number.has_value();
            if (found) {
                ASSERT_EQ(*number, (begin + i / 30) % 4096);
            }
        }
        EXPECT_TRUE(found);
    }
    EXPECT_LT(slots_needed, 60 * 12);
    EXPECT_LT(decoded, slots_needed / 20);
}

// The end of a signal is noticed after 18 slots in the mean (sequential_test.h); from noise alone
// the estimator makes a channel some 10 dB below it.
TEST_F(frame_number_from, noise_is_none_for_as_long_as_it_may_be_taken_for_a_signal) {
    for (int trial = 0; trial < 60; ++trial) {
        search.reset();
        for (int i = 0; i < 40; ++i) {
            receive(0, i % 30, false);
            for (float& s : ordered) s *= 0.3F;
            ASSERT_FALSE(add(i / 30));
        }
    }
}

TEST_F(frame_number_from, what_is_no_number_is_forgotten) {
    receive(7, 0);
    ordered[3] = std::numeric_limits<float>::quiet_NaN();
    EXPECT_FALSE(add(0));
    ordered.fill(std::numeric_limits<float>::infinity());
    EXPECT_FALSE(add(0));
    std::optional<std::uint16_t> number;
    for (int i = 0; i < 30 && !number; ++i) {
        receive(7, i);
        number = add(0);
    }
    EXPECT_EQ(number, 7);
}

}  // namespace
