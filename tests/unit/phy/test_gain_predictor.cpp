// SPDX-License-Identifier: GPL-3.0-or-later
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <random>
#include <vector>

#include "phy/gain_predictor.h"

namespace {
using namespace wip::phy;
using cf32 = std::complex<float>;

// Independent Rayleigh points with Clarke's Doppler spectrum: 64 arrivals each, seeded.
class fading_points {
public:
    fading_points(int points, double doppler_hz, unsigned seed) : points_(points) {
        std::mt19937 rng(seed);
        std::uniform_real_distribution<double> turn(0, 2 * std::numbers::pi);
        for (int i = 0; i < points * arrivals; ++i) {
            rate_.push_back(2 * std::numbers::pi * doppler_hz / 1500 * std::cos(turn(rng)));
            phase_.push_back(turn(rng));
        }
    }
    std::vector<cf32> at(int slot) const {
        std::vector<cf32> h(static_cast<std::size_t>(points_));
        for (int n = 0; n < points_; ++n) {
            std::complex<double> sum = 0;
            for (int i = 0; i < arrivals; ++i) {
                const auto k = static_cast<std::size_t>(n * arrivals + i);
                sum += std::polar(1.0, rate_[k] * slot + phase_[k]);
            }
            h[static_cast<std::size_t>(n)] = cf32(sum / std::sqrt(double{arrivals}));
        }
        return h;
    }

private:
    static constexpr int arrivals = 64;
    int points_;
    std::vector<double> rate_, phase_;
};

struct figures {
    double nmse;        // of the power
    double last_value;  // of the power, when the last value is the prediction
    double bias;        // mean prediction / mean power
};

figures run(double doppler_hz, double noise_variance, int horizon, int slots, int points = 25) {
    gain_predictor predictor({.points = points, .horizon = horizon});
    fading_points channel(points, doppler_hz, 7);
    std::mt19937 rng(3);
    std::normal_distribution<float> gauss(0, static_cast<float>(std::sqrt(noise_variance / 2)));
    double error = 0, last = 0, power = 0, mean = 0, predicted = 0;
    for (int t = 0; t < slots; ++t) {
        const auto h = channel.at(t);
        std::vector<cf32> y;
        for (auto g : h) y.push_back(g + cf32(gauss(rng), gauss(rng)));
        predictor.update(y, static_cast<float>(noise_variance));
        if (t < 400) continue;
        const auto future = channel.at(t + horizon);
        for (int n = 0; n < points; ++n) {
            const auto i = static_cast<std::size_t>(n);
            const double truth = std::norm(future[i]);
            error += std::pow(predictor.predicted_power(n) - truth, 2);
            last += std::pow(std::norm(y[i]) - truth, 2);
            power += truth * truth;
            mean += truth;
            predicted += predictor.predicted_power(n);
        }
    }
    return {error / power, last / power, predicted / mean};
}

TEST(gain_predictor, beats_the_literature_three_slots_ahead_at_75_km_h) {
    // 125 Hz Doppler, 16 dB SNR, estimation noise averaged over the 12 known symbols of a bin.
    const auto f = run(125, std::pow(10, -1.6) / 12, 3, 3000);
    EXPECT_LT(f.nmse, 0.0963);
    EXPECT_LT(f.nmse, f.last_value / 2);
}

TEST(gain_predictor, predicts_the_power_without_bias) {
    const auto f = run(125, std::pow(10, -1.6) / 4, 3, 3000);
    EXPECT_NEAR(f.bias, 1, 0.03);
}

TEST(gain_predictor, is_nearly_exact_on_a_slow_channel) {
    const auto f = run(5, 1e-3, 3, 3000);
    EXPECT_LT(f.nmse, 0.002);
}

TEST(gain_predictor, degrades_towards_the_mean_far_ahead) {
    // The mean as a prediction has NMSE 1/2 for Rayleigh fading: a long horizon may not be worse by
    // much.
    const auto f = run(125, 0.025, 40, 6000);
    EXPECT_LT(f.nmse, 0.56);
    EXPECT_NEAR(f.bias, 1, 0.1);
}

TEST(gain_predictor, works_with_one_flat_fading_channel) {
    const auto f = run(50, 1e-4, 3, 6000, 1);
    EXPECT_LT(f.nmse, f.last_value / 2);
}

TEST(gain_predictor, is_causal) {
    gain_predictor a({.points = 5, .horizon = 3}), b({.points = 5, .horizon = 3});
    fading_points same(5, 100, 1), other(5, 30, 2);
    for (int t = 0; t < 500; ++t) {
        a.update(same.at(t), 0.001F);
        b.update(same.at(t), 0.001F);
    }
    std::vector<float> before;
    for (int n = 0; n < 5; ++n) before.push_back(a.predicted_power(n));
    for (int t = 500; t < 520; ++t) b.update(other.at(t), 0.001F);  // another future
    for (int n = 0; n < 5; ++n)
        EXPECT_EQ(a.predicted_power(n), before[static_cast<std::size_t>(n)]);
    EXPECT_NE(a.predicted_power(0), b.predicted_power(0));
}

TEST(gain_predictor, survives_zeros_and_a_reset) {
    gain_predictor p({.points = 3, .horizon = 3});
    const std::vector<cf32> zeros(3);
    for (int t = 0; t < 300; ++t) p.update(zeros, 0);
    EXPECT_EQ(p.predicted_power(0), 0);
    p.reset();
    p.update(std::vector<cf32>(3, cf32(2, 0)), 0);
    EXPECT_FLOAT_EQ(p.predicted_power(1), 4);  // last value until there is a history again
}

TEST(gain_predictor, refuses_bad_arguments) {
    EXPECT_THROW(gain_predictor({.points = 0}), std::invalid_argument);
    EXPECT_THROW(gain_predictor({.horizon = 0}), std::invalid_argument);
    EXPECT_THROW(gain_predictor({.order = 33}), std::invalid_argument);
    EXPECT_THROW(gain_predictor({.memory_slots = 1}), std::invalid_argument);
    EXPECT_THROW(gain_predictor({.refresh_slots = 0}), std::invalid_argument);
}

}  // namespace
