// SPDX-License-Identifier: GPL-3.0-or-later
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <stdexcept>
#include <vector>

#include "sample/counter_random.h"
#include "sample/fast_math.h"
#include "sample/noise.h"

using namespace wip::sample_model;

namespace {

constexpr std::size_t many = 1 << 20;  // samples

std::vector<cf32> draw(double power, std::uint64_t seed, std::size_t n, std::uint32_t purpose = 0,
                       std::int64_t from = 0) {
    noise source(power, seed, purpose);
    source.seek(from);
    std::vector<cf32> x(n);
    source.work(x, x);
    return x;
}

// |mean of products a conj(b)| of unit power noise is below this with probability 1 - 1e-9.
const double correlation_limit = 4.6 / std::sqrt(static_cast<double>(many));

}  // namespace

TEST(Noise, has_the_power_asked_for) {
    double sum = 0;
    for (const cf32 s : draw(0.02, 1, many)) sum += std::norm(s);
    // The variance of |n|^2 is power^2: five standard deviations of the mean.
    EXPECT_NEAR(sum / many, 0.02, 5 * 0.02 / std::sqrt(many));
}

TEST(Noise, is_gaussian_in_its_moments) {
    double m1 = 0, m2 = 0, m3 = 0, m4 = 0, m6 = 0;
    for (const cf32 s : draw(2, 2, many))
        for (const double v : {static_cast<double>(s.real()), static_cast<double>(s.imag())}) {
            m1 += v, m2 += v * v, m3 += v * v * v, m4 += v * v * v * v, m6 += std::pow(v, 6);
        }
    const double n = 2.0 * many;
    EXPECT_NEAR(m1 / n, 0, 5 / std::sqrt(n));
    EXPECT_NEAR(m2 / n, 1, 5 * std::sqrt(2 / n));
    EXPECT_NEAR(m3 / n, 0, 5 * std::sqrt(15 / n));
    EXPECT_NEAR(m4 / n, 3, 5 * std::sqrt(96 / n));
    EXPECT_NEAR(m6 / n, 15, 5 * std::sqrt(10170 / n));
}

TEST(Noise, follows_the_normal_distribution) {  // Kolmogorov-Smirnov
    std::vector<double> v;
    for (const cf32 s : draw(2, 3, many / 4)) v.push_back(s.real()), v.push_back(s.imag());
    std::sort(v.begin(), v.end());
    double worst = 0;
    const double n = static_cast<double>(v.size());
    for (std::size_t i = 0; i < v.size(); ++i)
        worst = std::max(worst, std::abs(0.5 * std::erfc(-v[i] / std::sqrt(2.0)) -
                                         (static_cast<double>(i) + 0.5) / n));
    EXPECT_LT(worst * std::sqrt(n), 2.2);  // probability 1e-4 of more
}

TEST(Noise, has_the_tails_of_a_gaussian) {
    std::size_t beyond = 0;
    for (const cf32 s : draw(1, 4, 4 * many)) beyond += std::norm(s) > 9;  // e^-9
    const double expected = 4.0 * many * std::exp(-9.0);
    EXPECT_NEAR(static_cast<double>(beyond), expected, 5 * std::sqrt(expected));
}

TEST(Noise, is_white_and_circular) {
    const auto x = draw(1, 5, many);
    std::complex<double> pseudo;
    for (const cf32 s : x) pseudo += std::complex<double>(s) * std::complex<double>(s);
    EXPECT_LT(std::abs(pseudo) / many, std::sqrt(2.0) * correlation_limit);
    for (const std::size_t lag : {1u, 2u, 3u, 8u, 16u, 64u, 128u, 5120u}) {
        std::complex<double> sum;
        for (std::size_t i = lag; i < many; ++i)
            sum += std::complex<double>(x[i]) * std::conj(std::complex<double>(x[i - lag]));
        EXPECT_LT(std::abs(sum) / many, correlation_limit) << "lag " << lag;
    }
}

TEST(Noise, of_different_seeds_and_purposes_is_independent) {
    const auto x = draw(1, 6, many);
    for (const auto& y : {draw(1, 7, many), draw(1, 6, many, 1)}) {
        const auto sum = std::inner_product(x.begin(), x.end(), y.begin(), std::complex<double>{},
                                            std::plus<>{}, [](cf32 a, cf32 b) {
                                                return std::complex<double>(a) *
                                                       std::conj(std::complex<double>(b));
                                            });
        EXPECT_LT(std::abs(sum) / many, correlation_limit);
    }
}

TEST(Noise, does_not_depend_on_how_the_stream_is_cut) {
    const auto whole = draw(1, 8, 30000);
    noise source(1, 8);
    std::vector<cf32> cut(whole.size());
    std::mt19937 random(1);
    for (std::size_t done = 0; done < cut.size();) {
        const std::size_t n = std::min<std::size_t>(random() % 700, cut.size() - done);
        const std::span<cf32> part(cut.data() + done, n);
        source.work(part, part);
        done += n;
    }
    EXPECT_EQ(whole, cut);
}

TEST(Noise, can_go_to_any_sample_and_back) {
    const auto whole = draw(1, 9, 10000, 0, 1'000'000'000'000);
    const auto part = draw(1, 9, 100, 0, 1'000'000'004'321);
    EXPECT_TRUE(std::equal(part.begin(), part.end(), whole.begin() + 4321));
}

TEST(Noise, of_no_power_leaves_the_signal_as_it_is) {
    noise source(0, 1);
    const std::vector<cf32> x(1000, cf32(0.25f, -0.125f));
    std::vector<cf32> y(1000);
    source.work(x, y);
    EXPECT_EQ(x, y);
}

TEST(Noise, refuses_a_power_that_is_none) {
    EXPECT_THROW(noise(-1, 1), std::invalid_argument);
    EXPECT_THROW(noise(INFINITY, 1), std::invalid_argument);
    EXPECT_THROW(noise(NAN, 1), std::invalid_argument);
}

TEST(FastMath, agrees_with_the_library) {
    for (double x = 1e-10; x < 2; x *= 1.0007) {
        const float f = static_cast<float>(x);
        EXPECT_NEAR(fast_log(f), std::log(static_cast<double>(f)),
                    4e-7 * std::max(1.0, -std::log(x)));
    }
    for (std::uint64_t turn = 0; turn < (1ull << 32); turn += 1000003) {
        const auto [s, c] = fast_sincos(static_cast<std::uint32_t>(turn));
        const double a = 2 * M_PI * static_cast<double>(turn) / 4294967296.0;
        ASSERT_NEAR(s, std::sin(a), 2e-7);
        ASSERT_NEAR(c, std::cos(a), 2e-7);
    }
}

TEST(CounterRandom, has_no_equal_outputs_among_neighbours) {
    std::vector<std::uint64_t> seen;
    for (std::uint64_t i = 0; i < 100000; ++i) {
        const random_pair p = philox(i, 1);
        seen.push_back(std::uint64_t{p.a} << 32 | p.b);
    }
    std::sort(seen.begin(), seen.end());
    EXPECT_EQ(std::adjacent_find(seen.begin(), seen.end()), seen.end());
}

TEST(CounterRandom, a_row_is_each_counter_by_itself) {
    const std::uint64_t overflow = (std::uint64_t{1} << 32) - 5;
    for (const std::uint64_t first :
         {std::uint64_t{0}, std::uint64_t{1} << 40, overflow, ~overflow})
        for (const std::size_t n : {1, 8, 9, 63, 64}) {
            std::vector<std::uint32_t> a(n + philox_width), b(n + philox_width);
            philox_row(first, 0xC0FFEE, n, a.data(), b.data());
            for (std::size_t i = 0; i < n; ++i) {
                const random_pair p = philox(first + i, 0xC0FFEE);
                ASSERT_EQ(a[i], p.a);
                ASSERT_EQ(b[i], p.b);
            }
        }
}
