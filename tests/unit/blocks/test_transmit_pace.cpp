// SPDX-License-Identifier: GPL-3.0-or-later
// The radio's clock by the host's, and when a slot is made for it.
#include <gtest/gtest.h>

#include "iq/radio_clock.h"
#include "transmit_pace.h"

namespace wip {
namespace {

constexpr std::int64_t second = 1'000'000'000;  // ns
constexpr std::int64_t tick_ns = 130;           // ns, less than one sample

TEST(radio_clock, is_not_known_before_a_reading_and_not_by_a_clock_that_has_not_begun) {
    iq::radio_clock clock;
    EXPECT_FALSE(clock.at(second));
    clock.add(sample(0), second);
    EXPECT_FALSE(clock.at(second));
    clock.add(sample(1), second);
    EXPECT_EQ(clock.at(second), sample(1));
}

TEST(radio_clock, goes_on_between_readings) {
    iq::radio_clock clock;
    clock.add(sample(sample_rate_hz), 5 * second);
    const auto later = clock.at(6 * second)->value;
    EXPECT_LE(later, 2 * sample_rate_hz);
    EXPECT_GE(later, 2 * sample_rate_hz - 400);  // 50 ppm of a second
}

// A reading that took long is a loose bound, and so is one of a medium that stalled.
TEST(radio_clock, takes_the_tightest_bound) {
    iq::radio_clock clock;
    const auto truth = [](std::int64_t ns) { return ns * 96 / 12500; };  // samples
    clock.add(sample(truth(second)), second);
    for (int i = 1; i < 20; ++i) {
        const std::int64_t now = second + i * second / 10;
        clock.add(sample(truth(now) - 40'000), now);  // 5 ms late
    }
    const std::int64_t now = 3 * second;
    EXPECT_LE(clock.at(now)->value, truth(now));
    EXPECT_GE(clock.at(now)->value, truth(now) - 1'000);
}

TEST(radio_clock, that_is_set_back_forgets_what_it_was) {
    iq::radio_clock clock;
    clock.add(sample(100 * sample_rate_hz), second);
    clock.add(sample(7), 2 * second);
    EXPECT_EQ(clock.at(2 * second + tick_ns - 100), sample(7));
}

TEST(radio_clock, that_runs_50_ppm_fast_or_slow_is_never_said_to_be_ahead_by_more) {
    for (const double ppm : {-50.0, 50.0}) {
        iq::radio_clock clock;
        const auto truth = [&](double s) { return s * sample_rate_hz * (1 + ppm * 1e-6); };
        for (int i = 10; i < 100; ++i)
            clock.add(sample(static_cast<std::int64_t>(truth(i * 0.1))), i * (second / 10));
        const double s = 10.0;
        const double error = static_cast<double>(clock.at(10 * second)->value) - truth(s);
        EXPECT_LE(error, 1.0) << ppm;
        EXPECT_GE(error, -0.1 * sample_rate_hz * 110e-6 - 1) << ppm;
    }
}

TEST(transmit_pace, begins_a_slot_a_lead_before_the_air_and_gives_it_up_half_way) {
    const transmit_pace pace{slot_count(6)};
    EXPECT_TRUE(pace);
    EXPECT_EQ(pace.begin_of(slot(100)), first_sample(slot(94)));
    EXPECT_EQ(pace.deadline_of(slot(100)), first_sample(slot(97)));
    EXPECT_FALSE(transmit_pace{slot_count(0)});
}

TEST(transmit_pace, leaves_out_what_cannot_be_made_in_time_and_nothing_else) {
    const transmit_pace pace{slot_count(6)};
    // A slot is possible from its begin up to its deadline.
    EXPECT_EQ(pace.possible(slot(100), first_sample(slot(94))), slot(100));
    EXPECT_EQ(pace.possible(slot(100), first_sample(slot(97)) - sample_count(1)), slot(100));
    // After its deadline the first possible slot is the one whose deadline is still to come.
    EXPECT_EQ(pace.possible(slot(100), first_sample(slot(97))), slot(101));
    EXPECT_EQ(pace.possible(slot(100), first_sample(slot(172))), slot(176));
    for (std::int64_t now = 0; now < 30 * slot_samples; now += 777) {
        const slot s = pace.possible(slot(3), sample(now));
        EXPECT_GT(pace.deadline_of(s), sample(now));
        if (s > slot(3)) {
            EXPECT_LE(pace.deadline_of(s - slot_count(1)), sample(now));
        }
    }
}

// The shortest lead still has time for the plan and for the radio.
TEST(transmit_pace, of_two_slots_has_one_for_each_half) {
    const transmit_pace pace{slot_count(2)};
    EXPECT_EQ(pace.deadline_of(slot(10)), first_sample(slot(9)));
    EXPECT_LT(pace.begin_of(slot(10)), pace.deadline_of(slot(10)));
}

}  // namespace
}  // namespace wip
