// SPDX-License-Identifier: GPL-3.0-or-later
// Sample time from rx_time tags, and slot numbers from what the air carries and the slots that
// pass.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "sample_clock.h"
#include "slot_number.h"

namespace {

using namespace wip;

// A transmitter that counts from `first` and a receiver whose clock counts from `start`, `ppm`
// fast.
struct two_clocks {
    std::int64_t first = 0;
    std::int64_t start = 0;
    double ppm = 0;
    slot_numbering numbering;

    // The receiver's time of the start of the transmitter's slot `first` + k.
    sample time(std::int64_t k) const {
        const double extra = static_cast<double>(k) * slot_samples * ppm * 1e-6;
        return sample(start + k * slot_samples + std::llround(extra));
    }
    slot locked(std::int64_t k) {
        return numbering.number(time(k), true, (first + k) % hyperframe_slots);
    }
    // Some windows of 5120 of the receiver's own samples, wherever slots begin.
    slot unlocked(std::int64_t k) { return numbering.number(time(k), false, 0); }
    bool fits(slot number, std::int64_t k) const {
        return (number.value - first - k) % hyperframe_slots == 0;
    }
};

TEST(slot_number, with_one_time_at_both_ends_both_count_alike) {
    std::mt19937_64 random(7);
    for (int i = 0; i < 10000; ++i) {
        const auto truth = static_cast<std::int64_t>(random() % (std::uint64_t{1} << 42));
        const auto error = static_cast<std::int64_t>(random() % 5000) - 2500;
        slot_numbering numbering;
        const sample start(truth * slot_samples + error);
        EXPECT_EQ(numbering.number(start, false, 0).value, truth);
        const sample next(start + sample_count(slot_samples));
        EXPECT_EQ(numbering.number(next, true, (truth + 1) % hyperframe_slots).value, truth + 1);
    }
}

TEST(slot_number, the_air_decides_modulo_a_hyperframe_whatever_the_two_clocks_say) {
    std::mt19937_64 random(8);
    for (int i = 0; i < 10000; ++i) {
        two_clocks c{static_cast<std::int64_t>(random() % (std::uint64_t{1} << 42)),
                     static_cast<std::int64_t>(random() % (std::uint64_t{1} << 50)),
                     0,
                     {}};
        const slot before = c.unlocked(0);
        const slot first = c.locked(1);
        EXPECT_TRUE(c.fits(first, 1));
        EXPECT_GE(first + slot_numbering::largest_slip, before);
        for (int k = 2; k < 5; ++k) EXPECT_EQ((c.locked(k) - first).value, k - 1);
    }
}

// Every slot of it, with a second without lock in every minute. The numbers go on from one to the
// next, though the clocks have moved by 108 slots (72 ms) at the end.
TEST(slot_number, an_hour_at_20_ppm_is_counted_slot_by_slot) {
    for (const double ppm : {-20.0, 20.0}) {
        two_clocks c{1'000'000, 77'777'777, ppm, {}};
        constexpr std::int64_t hour = 3600 * slots_per_second, minute = 60 * slots_per_second;
        const slot first = c.locked(0);
        for (std::int64_t k = 1; k < hour; ++k) {
            const slot here = k % minute < slots_per_second ? c.unlocked(k) : c.locked(k);
            ASSERT_EQ((here - first).value, k) << ppm << " ppm";
        }
        EXPECT_EQ(std::llround(static_cast<double>(hour) * ppm * 1e-6), ppm > 0 ? 108 : -108);
    }
}

// 0.1 s in lock of every minute.
TEST(slot_number, ten_days_at_20_ppm_with_pauses_of_a_minute) {
    for (const double ppm : {-20.0, 20.0}) {
        two_clocks c{5, 1'000'003, ppm, {}};
        constexpr std::int64_t days = 10 * 86400 * slots_per_second;
        const slot first = c.locked(0);
        for (std::int64_t k = 0; k < days; k += 60 * slots_per_second)
            for (std::int64_t i = 1; i < 150; ++i)
                ASSERT_EQ((c.locked(k + i) - first).value, k + i) << ppm << " ppm";
    }
}

TEST(slot_number, without_lock_for_hours_the_count_is_mended_forwards) {
    two_clocks c{1000, 0, 20, {}};
    c.locked(0);
    constexpr std::int64_t later = 5 * 3600 * slots_per_second;
    const slot before = c.unlocked(later);
    EXPECT_EQ(before.value, 1000 + later + 540);  // 20 ppm of five hours
    const slot after = c.locked(later + 1);
    EXPECT_TRUE(c.fits(after, later + 1));
    EXPECT_GT(after, before);
}

TEST(slot_number, a_base_station_that_began_anew_is_followed_forwards) {
    two_clocks c{700'000, 0, 0, {}};
    slot last = c.locked(0);
    c.first = 12;  // the transmitter's clock was set to zero
    for (int k = 100; k < 105; ++k) {
        const slot here = c.locked(k);
        EXPECT_TRUE(c.fits(here, k));
        EXPECT_GT(here, last);
        last = here;
    }
}

TEST(slot_number, a_receiver_whose_clock_is_set_back_goes_on_counting) {
    two_clocks c{9'000'000, 9'000'000LL * slot_samples, 0, {}};
    const slot before = c.locked(50);
    c.start = 0;
    EXPECT_EQ((c.unlocked(51) - before).value, 1);
    EXPECT_EQ((c.unlocked(52) - before).value, 2);
    const slot after = c.locked(53);
    EXPECT_TRUE(c.fits(after, 53));
    EXPECT_EQ((after - before).value, 3);
}

TEST(slot_number, a_start_a_little_before_or_after_the_slots_time_is_that_slot) {
    for (const int offset : {-2559, -77, -1, 0, 1, 77, 2559})
        EXPECT_EQ(nearest_slot(first_sample(slot(150)) + sample_count(offset)).value, 150);
}

TEST(sample_clock, times_split_and_join_exactly) {
    std::mt19937_64 random(3);
    for (int i = 0; i < 100000; ++i) {
        const sample s(static_cast<std::int64_t>(random() % (std::uint64_t{1} << 46)));
        const auto [full, fraction] = time_of_sample(s);
        ASSERT_LT(fraction, 1.0);
        ASSERT_EQ(sample_of_time(full, fraction), s);
    }
}

TEST(sample_clock, counts_from_the_last_tag_and_calls_only_later_disagreement_a_jump) {
    sample_clock clock{sample(1000)};
    EXPECT_EQ(clock.at(5).value, 1005);
    EXPECT_FALSE(clock.set(0, {sample(768000)}));  // the first tag says when the stream began
    EXPECT_EQ(clock.at(5120).value, 773120);
    EXPECT_FALSE(clock.set(5120, {sample(773120)}));  // a retune: no samples missing
    EXPECT_TRUE(clock.set(6000, {sample(800000)}));   // an overflow
    EXPECT_EQ(clock.at(6001).value, 800001);
}

// A receiver that a radio starts anew begins at any tick of its clock, here of 61.44 MHz, eight of
// them a sample.
TEST(sample_clock, keeps_the_part_of_a_sample) {
    for (const std::uint64_t full : {std::uint64_t{0}, std::uint64_t{1'760'000'000}})
        for (int tick = 0; tick < 100; ++tick) {
            const auto t = sample_time_of(full, (0.25 * 61.44e6 + tick) / 61.44e6);
            const std::int64_t whole = (tick + 4) / 8;
            const auto nearest = static_cast<std::int64_t>(full) * sample_rate_hz + 1'920'000;
            if (tick % 8 != 4) {
                EXPECT_EQ(t.nearest.value, nearest + whole) << tick;
            }
            EXPECT_NEAR(static_cast<double>((t.nearest - sample(nearest)).value) + t.later,
                        tick / 8.0, 1e-6)
                << tick;
            EXPECT_LE(std::abs(t.later), 0.5);
        }
    sample_clock clock{sample(1000)};
    EXPECT_EQ(clock.later(), 0);
    clock.set(0, {sample(768000), 0.25});
    EXPECT_EQ(clock.later(), 0.25);
}

}  // namespace
