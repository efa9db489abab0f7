// SPDX-License-Identifier: GPL-3.0-or-later
// Flat Rayleigh fading: the receiver holds lock, its estimates stay close to the truth, and its SNR
// prediction reaches the marks of the literature (Alfredsson 2012: NMSE 0.0963 at 0.25
// wavelengths).
#include <gtest/gtest.h>

#include <algorithm>

#include "phy/qam/constellation.h"
#include "phy_link.h"

namespace {

using namespace wip;
using namespace wip::phy;
using namespace wip::phy::test;

struct fading_result {
    double nmse;              // NMSE of the prediction against the true SNR
    double measured_nmse;     // NMSE against the SNR that the receiver measures
    double bias_db;           // mean predicted over mean true SNR
    double frame_error_rate;  // error rate of 4-QAM frames in slots with a grant
    double genie_error_rate;  // the same by theory, from the true SNR of each slot
    // error of the channel estimate at the slot's middle, relative to the noise
    double estimate_error_db;
    std::uint64_t losses;
};

// Probability that a frame of 108 4-QAM symbols is right at SNR g.
double frame_right(double g) {
    const double bit = 0.5 * std::erfc(std::sqrt(g / 2));
    return std::pow((1 - bit) * (1 - bit), 108);
}

fading_result run(double doppler_hz, double snr_db, int slots, int horizon = 3,
                  std::uint32_t seed = 5) {
    slot_modulator modulator({});
    slot_receiver receiver({.horizon_slots = horizon});
    slot_source source(2);
    sample_channel channel({.snr_db = snr_db, .doppler_hz = doppler_hz, .seed = seed});
    std::vector<double> predicted(static_cast<std::size_t>(slots + horizon + 1), -1);
    double measured_error = 0, measured_power = 0;
    double error = 0, power = 0, sum_predicted = 0, sum_true = 0, squared = 0;
    double genie_wrong = 0;
    int bins = 0, wrong = 0, elements = 0;
    const double n0 = std::pow(10, -snr_db / 10);
    for (int i = 0; i < slots; ++i) {
        const slot air(150 + i);
        const auto x = channel.pass(modulate(modulator, source.make(air)));
        const auto middle = static_cast<std::int64_t>(i) * slot_samples + slot_samples / 2;
        const std::complex<double> h = channel.gain_at(middle);
        const double snr = std::norm(h) / n0;
        receiver.process(first_sample(air), x, [&](const received_slot& r) {
            if (!r.locked) return;
            const auto at = static_cast<std::size_t>(i);
            if (predicted[at] >= 0 && i > 400) {
                error += (snr - predicted[at]) * (snr - predicted[at]);
                power += snr * snr;
                sum_predicted += predicted[at];
                sum_true += snr;
                const double measured = std::pow(10, static_cast<double>(r.snr_db[12]) / 10);
                measured_error += (measured - predicted[at]) * (measured - predicted[at]);
                measured_power += measured * measured;
            }
            predicted[at + static_cast<std::size_t>(horizon)] =
                std::pow(10, static_cast<double>(r.predicted_snr_db[12]) / 10);
            if (!r.grant_ok) return;
            std::complex<double> mean{};
            for (const auto v : r.channel) mean += std::complex<double>(v) / 500.0;
            if (i > 100) {
                // The CFO correction turns the whole channel: compare without the common phase.
                const auto turn = std::conj(h) * mean / std::abs(h) / std::abs(mean);
                for (const auto v : r.channel)
                    squared += std::norm(std::complex<double>(v) - h * turn);
                elements += 500;
            }
            for (const auto& b : r.bins) {
                ++bins;
                wrong += b.outcome == frame_outcome::bad;
                genie_wrong += 1 - frame_right(snr);
            }
        });
    }
    return {error / power,
            measured_error / measured_power,
            10 * std::log10(sum_predicted / sum_true),
            static_cast<double>(wrong) / bins,
            genie_wrong / bins,
            10 * std::log10(squared / elements / n0),
            receiver.state().lock_losses};
}

TEST(fading, at_30_km_h_and_16_db_frames_fail_hardly_more_often_than_with_the_channel_known) {
    const auto r = run(50, 16, 4000);
    EXPECT_EQ(r.losses, 0U);
    EXPECT_LT(r.frame_error_rate, r.genie_error_rate + 0.02);
    EXPECT_GT(r.frame_error_rate, r.genie_error_rate - 0.02);
}

TEST(fading, channel_estimate_errs_by_far_less_than_the_noise) {
    EXPECT_LT(run(50, 16, 1500).estimate_error_db, -15);
    EXPECT_LT(run(50, 30, 1500).estimate_error_db, -10);
}

TEST(fading, prediction_two_milliseconds_ahead_passes_the_marks_of_the_literature) {
    // 0.1 wavelengths at 50 Hz, 0.25 at 125 Hz (75 km/h at 1.8 GHz).
    const auto slow = run(50, 16, 4000);
    EXPECT_LT(slow.nmse, 0.005);
    const auto fast = run(125, 16, 4000);
    EXPECT_LT(fast.nmse, 0.02);
}

// One component is all there is: what its filter misses must not be taken for shadowing.
TEST(fading, prediction_of_a_flat_channel_finds_no_shadowing_in_it) {
    for (const double snr_db : {30.0, 35.0, 40.0})
        for (const double doppler : {60.0, 125.0})
            EXPECT_LT(run(doppler, snr_db, 1500, 3, 7).measured_nmse, 0.03)
                << doppler << ' ' << snr_db;
}

TEST(fading, prediction_is_unbiased) {
    for (const double doppler : {50.0, 125.0})
        EXPECT_NEAR(run(doppler, 16, 4000).bias_db, 0, 0.2) << doppler;
}

TEST(fading, prediction_far_ahead_ends_at_the_mean_and_not_beyond) {
    // 24 slots at 125 Hz are two wavelengths: nothing to know but the mean, NMSE 1/2 of Rayleigh.
    const auto r = run(125, 16, 4000, 24);
    EXPECT_LT(r.nmse, 0.75);
}

TEST(fading, lock_is_held_at_walking_speed) { EXPECT_EQ(run(5, 16, 6000).losses, 0U); }

// Two paths of equal phase, the second `delay` samples later; the mean SNR is kept.
double worst_bin_frames(std::size_t delay, double echo_db, int bits_per_symbol = 2) {
    slot_modulator modulator({});
    slot_receiver receiver({});
    slot_source source(bits_per_symbol);
    sample_channel channel({.snr_db = 30});
    const auto echo = static_cast<float>(std::pow(10, echo_db / 20));
    const float scale = 1 / std::sqrt(1 + echo * echo);
    two_paths paths(delay);
    int good = 0, all = 0;
    for (std::int64_t i = 0; i < 600; ++i) {
        const auto x = modulate(modulator, source.make(slot(150 + i)));
        const auto y = paths.pass(x, scale, scale * echo);
        receiver.process(first_sample(slot(150 + i)), channel.pass(y), [&](const received_slot& r) {
            if (i < 400) return;
            for (const auto& b : r.bins) {
                ++all;
                good += b.outcome == frame_outcome::good;
            }
        });
    }
    return static_cast<double>(good) / all;
}

TEST(echoes, within_three_microseconds_cost_no_frame_at_30_db) {
    EXPECT_EQ(worst_bin_frames(4, -3), 1);   // 0.5 us
    EXPECT_EQ(worst_bin_frames(15, -3), 1);  // 2 us
    EXPECT_EQ(worst_bin_frames(23, -6), 1);  // 3 us
}

// Further from the mean delay than half of the widest window.
TEST(echoes, five_microseconds_late_or_early_cost_hardly_a_frame_at_30_db) {
    for (const double echo_db : {-9.0, 9.0})
        EXPECT_GT(worst_bin_frames(38, echo_db, 4), 0.99) << echo_db;
}

}  // namespace
