// SPDX-License-Identifier: GPL-3.0-or-later
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <stdexcept>
#include <vector>

#include "sample/flat_fading.h"

using namespace wip::sample_model;

namespace {

constexpr double rate = 7.68e6;  // Hz

// The gain at one sample.
cf32 gain_at(flat_fading& f, std::int64_t sample) {
    cf32 h;
    f.seek(sample);
    f.gains({&h, 1});
    return h;
}

}  // namespace

TEST(FlatFading, has_unit_mean_power_in_time) {
    for (std::uint64_t seed = 1; seed <= 5; ++seed) {
        flat_fading f(100, rate, seed);
        double sum = 0;
        constexpr int n = 20000;  // samples of 1000 s, or 100 000 Doppler periods
        for (int i = 0; i < n; ++i) sum += std::norm(gain_at(f, i * 384007LL));
        EXPECT_NEAR(sum / n, 1, 0.04) << "seed " << seed;  // five standard deviations
    }
}

TEST(FlatFading, has_rayleigh_distributed_amplitude_and_uniform_phase) {
    std::vector<double> power, phase;
    for (std::uint64_t seed = 0; seed < 20000; ++seed) {
        flat_fading f(50, rate, seed);
        const cf32 h = gain_at(f, 123456);
        power.push_back(std::norm(h));
        phase.push_back(std::arg(h) / (2 * M_PI) + 0.5);
    }
    const auto distance = [](std::vector<double> v, auto cdf) {
        std::sort(v.begin(), v.end());
        double worst = 0;
        for (std::size_t i = 0; i < v.size(); ++i)
            worst = std::max(worst, std::abs(cdf(v[i]) - (static_cast<double>(i) + 0.5) /
                                                             static_cast<double>(v.size())));
        return worst * std::sqrt(static_cast<double>(v.size()));
    };
    // Sixty-four waves against infinitely many: E|h|^4 = 2 - 1/64.
    EXPECT_LT(distance(power, [](double p) { return 1 - std::exp(-p); }), 2.2);
    EXPECT_LT(distance(phase, [](double p) { return p; }), 2.2);
    double m1 = 0, m2 = 0;
    for (const double p : power) m1 += p, m2 += p * p;
    EXPECT_NEAR(m1 / 20000, 1, 0.036);
    EXPECT_NEAR(m2 / 20000, 2 - 1.0 / 64, 5 * std::sqrt(20.0 / 20000));
}

TEST(FlatFading, has_the_autocorrelation_of_clarke_already_in_one_realisation) {
    constexpr double doppler = 100;
    flat_fading f(doppler, rate, 3);
    constexpr int n = 40000;
    for (const double periods : {0.0, 0.1, 0.25, 0.3827, 0.5, 0.75, 1.0, 2.0, 3.5}) {
        const std::int64_t lag = std::llround(periods / doppler * rate);
        std::complex<double> sum;
        for (int i = 0; i < n; ++i) {
            const std::int64_t t = i * 384007LL;
            sum += std::complex<double>(gain_at(f, t + lag)) *
                   std::conj(std::complex<double>(gain_at(f, t)));
        }
        const double x = 2 * M_PI * doppler * static_cast<double>(lag) / rate;
        EXPECT_NEAR(sum.real() / n, std::cyl_bessel_j(0, x), 0.03) << periods << " periods";
        EXPECT_NEAR(sum.imag() / n, 0, 0.03) << periods << " periods";
    }
}

TEST(FlatFading, changes_smoothly_between_the_knots) {
    // Second difference over 16 samples of a band-limited process: below (2 pi f 16/fs)^2 times the
    // largest possible amplitude, 8; an interpolation kink would be larger by orders.
    constexpr double doppler = 300;
    flat_fading f(doppler, rate, 4);
    std::vector<cf32> h(100000);
    f.gains(h);
    const double w = 2 * M_PI * doppler * 16 / rate;
    for (std::size_t i = 16; i + 16 < h.size(); ++i)
        ASSERT_LT(std::abs(h[i + 16] - 2.0f * h[i] + h[i - 16]), 8 * w * w + 1e-6) << i;
}

TEST(FlatFading, interpolation_is_accurate_at_the_largest_doppler) {
    // A model with twice the sample rate and Doppler has its knots where this one has midpoints.
    flat_fading coarse(2000, rate, 5), fine(1000, rate, 5);
    for (int i = 0; i < 2000; ++i) {
        const std::int64_t t = 256LL * i + 128;
        EXPECT_LT(std::abs(gain_at(coarse, t) - gain_at(fine, 2 * t)), 1.5e-3);
    }
}

TEST(FlatFading, does_not_depend_on_how_the_stream_is_cut) {
    std::vector<cf32> in(30000), whole(in.size()), cut(in.size());
    std::mt19937 random(2);
    for (cf32& s : in)
        s = {static_cast<float>(random() % 1000), static_cast<float>(random() % 1000)};
    flat_fading a(50, rate, 6), b(50, rate, 6);
    a.work(in, whole);
    for (std::size_t done = 0; done < cut.size();) {
        const std::size_t n = std::min<std::size_t>(random() % 700, cut.size() - done);
        b.work({in.data() + done, n}, {cut.data() + done, n});
        done += n;
    }
    EXPECT_EQ(whole, cut);
    b.seek(7777);
    std::vector<cf32> again(100);
    b.work({in.data() + 7777, 100}, again);
    EXPECT_TRUE(std::equal(again.begin(), again.end(), whole.begin() + 7777));
}

TEST(FlatFading, of_different_seeds_is_different_and_of_equal_seeds_equal) {
    flat_fading a(50, rate, 7), b(50, rate, 8), c(50, rate, 7), d(50, rate, 7, 1);
    EXPECT_NE(gain_at(a, 0), gain_at(b, 0));
    EXPECT_EQ(gain_at(a, 0), gain_at(c, 0));
    EXPECT_NE(gain_at(a, 0), gain_at(d, 0));
}

TEST(FlatFading, without_doppler_is_constant) {
    flat_fading f(0, rate, 9);
    EXPECT_EQ(gain_at(f, 0), gain_at(f, 1'000'000'000));
}

TEST(FlatFading, refuses_a_doppler_out_of_range) {
    EXPECT_THROW(flat_fading(-1, rate, 1), std::invalid_argument);
    EXPECT_THROW(flat_fading(2001, rate, 1), std::invalid_argument);
    EXPECT_THROW(flat_fading(NAN, rate, 1), std::invalid_argument);
    EXPECT_THROW(flat_fading(1, 0, 1), std::invalid_argument);
}
