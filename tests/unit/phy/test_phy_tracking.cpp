// SPDX-License-Identifier: GPL-3.0-or-later
// A locked receiver follows what moves slowly (oscillator) and what jumps (the profile's mean
// delay).
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>

#include "phy_link.h"
#include "sample/fractional_delay.h"
#include "satellite_link.h"

namespace {

using namespace wip;
using namespace wip::phy;
using namespace wip::phy::test;

constexpr double slot_seconds = 1.0 / slots_per_second;

struct drifted {
    double worst_hz = 0;
    int unlocked = 0, good = 0, bad = 0;
    std::uint64_t losses = 0;
};

// The CFO goes through -150 .. 150 Hz (or back) in 3 s. A loop that takes half of the error every
// 256 slots lags by 2.5 windows of the drift just before it steps: 43 Hz at 100 Hz a second.
drifted drift(double hz_per_second, double doppler_hz, int bits_per_symbol, double snr_db) {
    constexpr int slots = 4500;
    slot_modulator modulator({});
    slot_receiver receiver({});
    slot_source source(bits_per_symbol);
    const double begin_hz = -hz_per_second * slots * slot_seconds / 2;
    sample_channel channel({.snr_db = snr_db, .delay = 300, .doppler_hz = doppler_hz});
    drifted out;
    for (int i = 0; i < slots; ++i) {
        auto x = channel.pass(modulate(modulator, source.make(slot(150 + i))));
        for (std::size_t n = 0; n < x.size(); ++n) {
            const double t = i * slot_seconds + static_cast<double>(n) / sample_rate_hz;
            const double turns = std::remainder(t * (begin_hz + hz_per_second * t / 2), 1.0);
            x[n] *= cf32(std::polar(1.0, 2 * std::numbers::pi * turns));
        }
        receiver.process(first_sample(slot(150 + i)), x, [&](const received_slot& r) {
            if (i < 100) return;
            out.unlocked += !r.locked;
            for (const auto& b : r.bins) {
                out.good += b.outcome == frame_outcome::good;
                out.bad += b.outcome == frame_outcome::bad;
            }
        });
        const double cfo_hz = begin_hz + hz_per_second * (i + 1) * slot_seconds;
        if (i >= 100)
            out.worst_hz = std::max(out.worst_hz, std::abs(receiver.state().cfo_hz - cfo_hz));
    }
    out.losses = receiver.state().lock_losses;
    return out;
}

TEST(tracking, cfo_that_drifts_by_100_hz_a_second_is_followed) {
    for (const double rate : {100.0, -100.0}) {
        const auto r = drift(rate, 0, 6, 35);
        EXPECT_LT(r.worst_hz, 45) << rate;
        EXPECT_EQ(r.unlocked, 0) << rate;
        EXPECT_EQ(r.losses, 0U) << rate;
        EXPECT_EQ(r.bad, 0) << rate;
        EXPECT_GE(r.good, 4390 * nof_bins) << rate;
    }
}

TEST(tracking, cfo_that_drifts_is_followed_through_fades) {
    const auto r = drift(100, 50, 2, 20);
    EXPECT_LT(r.worst_hz, 60);
    EXPECT_EQ(r.unlocked, 0);
    EXPECT_EQ(r.losses, 0U);
}

// A radio that sets its clock by UNIX time: a double has steps of two samples there.
TEST(tracking, timing_is_as_exact_in_the_year_2025_as_in_1970) {
    constexpr sample_count later(std::int64_t{1'760'000'000} * sample_rate_hz);
    slot_modulator modulator({});
    slot_receiver in_1970({}), in_2025({});
    slot_source source(2);
    sample_channel channel({.snr_db = 30, .delay = 301});
    for (int i = 0; i < 60; ++i) {
        const auto x = channel.pass(modulate(modulator, source.make(slot(150 + i))));
        const auto start = first_sample(slot(150 + i));
        in_1970.process(start, x, [](const received_slot&) {});
        in_2025.process(start + later, x, [](const received_slot&) {});
    }
    EXPECT_NEAR(in_1970.state().timing_samples, 301, 0.5);
    EXPECT_EQ(in_2025.state().timing_samples, in_1970.state().timing_samples);
}

// Overflows: two slots are missing every 40 slots, and behind each gap the samples are taken at
// another part of a sample time. Typical speed, one path.
struct overflowed {
    double nmse = 0, worst_timing = 0;
    std::uint64_t losses = 0;
};
overflowed overflow(bool moves, bool announced) {
    constexpr int slots = 1200, turn = 40, missing = 1, late = 300;
    slot_modulator modulator({});
    slot_receiver receiver({});
    slot_source source(2);
    sample_channel channel({.snr_db = 20, .cfo_hz = 1700, .delay = late, .doppler_hz = 60});
    std::vector<cf32> heard(16);  // samples before the slot
    const sample_model::delay_kernel kernel(8, false);
    std::mt19937 random(5);
    double later = 0;
    overflowed out;
    for (int i = 0; i < slots; ++i) {
        const auto x = channel.pass(modulate(modulator, source.make(slot(150 + i))));
        if (i % turn == turn - 1 && moves)
            later = std::uniform_real_distribution<>(-0.5, 0.5)(random);
        // y[n] = x(n + later - 8)
        std::vector<cf32> all(heard);
        all.insert(all.end(), x.begin(), x.end());
        std::array<float, 17> weights;
        for (int k = 0; k < 17; ++k)
            weights[static_cast<std::size_t>(k)] = static_cast<float>(kernel.exact(k - 8 + later));
        std::vector<cf32> y(x.size());
        for (std::size_t n = 0; n < y.size(); ++n)
            for (std::size_t k = 0; k < 17; ++k) y[n] += weights[k] * all[n + heard.size() - k];
        heard.assign(x.end() - static_cast<std::ptrdiff_t>(heard.size()), x.end());
        if (i % turn >= turn - missing) continue;
        if (announced) receiver.set_grid(later);
        receiver.process(first_sample(slot(150 + i)), y, [](const received_slot&) {});
        if (i < 200) continue;
        const double timing = receiver.state().timing_samples + (announced ? later : 0);
        out.worst_timing = std::max(out.worst_timing, std::abs(timing - (late + 8)));
    }
    out.nmse = receiver.state().prediction_nmse;
    out.losses = receiver.state().losses_gap + receiver.state().losses_pilots;
    return out;
}

TEST(tracking, an_overflow_that_moves_the_grid_of_the_samples_is_none_for_timing_and_prediction) {
    const auto whole = overflow(false, true), announced = overflow(true, true),
               rounded = overflow(true, false);
    EXPECT_EQ(announced.losses, 0U);
    EXPECT_LT(announced.worst_timing, whole.worst_timing + 0.05);
    EXPECT_LT(announced.nmse, 1.1 * whole.nmse);
    EXPECT_GT(rounded.worst_timing, 0.4);  // otherwise the test would compare nothing
    EXPECT_GT(rounded.nmse, 1.3 * whole.nmse);
}

// Beginning, the steepest change of the delay; a minute before the middle; the steepest change of
// the Doppler shift. Delay and shift of the whole pass lie between; tests/bench/satellite_pass
// computes all of it.
TEST(tracking, the_pass_of_a_satellite_in_low_orbit_is_followed) {
    for (const double from_s : {-300.0, -60.0, -0.5}) {
        satellite_link link(from_s, 2, 20);
        const double begin_hz = link.doppler_hz();
        pass_counts p;
        for (int i = 0; i < slots_per_second; ++i) link.step(p);
        RecordProperty("from_" + std::to_string(static_cast<int>(from_s)) + "_s",
                       std::to_string(begin_hz) + " Hz, locked at slot " +
                           std::to_string(link.locked_at()) + ", off by " +
                           std::to_string(p.cfo_error_hz) + " Hz, frames lost " +
                           std::to_string(p.bad) + " of " + std::to_string(p.good + p.bad));
        EXPECT_GE(link.locked_at(), 0) << from_s;
        EXPECT_LT(link.locked_at(), 100) << from_s;
        EXPECT_EQ(p.unlocked, 0) << from_s;
        EXPECT_LT(static_cast<double>(p.bad), 0.01 * static_cast<double>(p.good + p.bad))
            << from_s << ": " << p.cfo_error_hz << " Hz off";
    }
}

struct moved {
    // distance from the mean delay in samples: the largest before, and well after
    double distance = 0;
    int unlocked = 0, good = 0, bad = 0;
    std::uint64_t losses = 0;
};

// Power on the first of two paths before and after slot 500; the rest is on the second.
moved jump(std::size_t delay, double before, double after) {
    constexpr int slots = 1500, at = 500, late = 300;
    slot_modulator modulator({});
    slot_receiver receiver({});
    slot_source source(2);
    two_paths paths(delay);
    sample_channel channel({.snr_db = 30, .cfo_hz = 700, .delay = late});
    moved out;
    for (int i = 0; i < slots; ++i) {
        const double first = i < at ? before : after;
        const auto y = paths.pass(modulate(modulator, source.make(slot(150 + i))),
                                  static_cast<float>(std::sqrt(first)),
                                  static_cast<float>(std::sqrt(1 - first)));
        receiver.process(first_sample(slot(150 + i)), channel.pass(y), [&](const received_slot& r) {
            if (i < 100) return;
            out.unlocked += !r.locked;
            for (const auto& b : r.bins) {
                out.good += b.outcome == frame_outcome::good;
                out.bad += b.outcome == frame_outcome::bad;
            }
        });
        const double mean_delay = (1 - first) * static_cast<double>(delay);
        const double timing = std::remainder(receiver.state().timing_samples - late, slot_samples);
        if (i == at - 1 || i >= slots - 300)
            out.distance = std::max(out.distance, std::abs(timing - mean_delay));
    }
    out.losses = receiver.state().lock_losses;
    return out;
}

TEST(tracking, timing_follows_when_the_mean_delay_jumps_by_a_microsecond) {
    struct {
        std::size_t delay;
        double before, after;
    } const jumps[] = {
        {8, 1, 0},  // the path is another one, 1.04 us later (or earlier)
        {8, 0, 1},
        {15, 0.9, 0.4},  // the power moves between paths that stay
        {15, 0.4, 0.9},
    };
    for (const auto& j : jumps) {
        const auto r = jump(j.delay, j.before, j.after);
        EXPECT_LT(r.distance, 0.5) << j.delay << ' ' << j.before;
        EXPECT_EQ(r.unlocked, 0) << j.delay << ' ' << j.before;
        EXPECT_EQ(r.losses, 0U) << j.delay << ' ' << j.before;
        EXPECT_EQ(r.bad, 0) << j.delay << ' ' << j.before;
        // A few slots without a grant, until the estimate has found the path (measured: one).
        EXPECT_GE(r.good, 1390 * nof_bins) << j.delay << ' ' << j.before;
    }
}

}  // namespace
