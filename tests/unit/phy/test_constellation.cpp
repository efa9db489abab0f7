// SPDX-License-Identifier: GPL-3.0-or-later
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <complex>
#include <numbers>
#include <random>
#include <set>
#include <vector>

#include "phy/qam/constellation.h"
#include "symbol_error_theory.h"

namespace {

using wip::phy::cf32;
using wip::phy::constellation;
using wip::phy::test::exact_symbol_error_rate;

double distance2(std::complex<double> z, cf32 p) { return std::norm(z - std::complex<double>(p)); }

struct nearest {
    int label;
    double d2;
};
nearest brute_force(const constellation& c, std::complex<double> z) {
    nearest best{-1, 1e300};
    for (std::size_t i = 0; i < c.points().size(); ++i)
        if (distance2(z, c.points()[i]) < best.d2)
            best = {static_cast<int>(i), distance2(z, c.points()[i])};
    return best;
}

double min_distance2(const std::vector<std::complex<double>>& p) {
    double d = 1e300;
    for (std::size_t a = 0; a < p.size(); ++a)
        for (std::size_t b = 0; b < a; ++b) d = std::min(d, std::norm(p[a] - p[b]));
    return d;
}

std::vector<std::complex<double>> points_of(const constellation& c) {
    return {c.points().begin(), c.points().end()};
}

// Mean number of bits that differ between nearest neighbours.
double mean_label_distance(const std::vector<std::complex<double>>& p,
                           const std::vector<int>& label) {
    const double d2 = min_distance2(p) * 1.001;
    int pairs = 0, bits = 0;
    for (std::size_t a = 0; a < p.size(); ++a)
        for (std::size_t b = 0; b < p.size(); ++b)
            if (a != b && std::norm(p[a] - p[b]) < d2) {
                ++pairs;
                bits += std::popcount(static_cast<unsigned>(label[a] ^ label[b]));
            }
    return static_cast<double>(bits) / pairs;
}

std::vector<int> identity(std::size_t n) {
    std::vector<int> v(n);
    for (std::size_t i = 0; i < n; ++i) v[i] = static_cast<int>(i);
    return v;
}

struct point_set {
    int bits;
    wip::eight_points eight = wip::eight_points::star;
};
void PrintTo(const point_set& s, std::ostream* out) {
    *out << s.bits << " bits, set " << static_cast<int>(s.eight);
}

class every_constellation : public testing::TestWithParam<point_set> {
protected:
    constellation c{GetParam().bits, GetParam().eight};
};
INSTANTIATE_TEST_SUITE_P(bits, every_constellation,
                         testing::Values(point_set{1}, point_set{2}, point_set{3}, point_set{4},
                                         point_set{5}, point_set{6}, point_set{7}, point_set{8},
                                         point_set{3, wip::eight_points::cross},
                                         point_set{3, wip::eight_points::rectangle}));

TEST_P(every_constellation, has_unit_mean_energy_zero_mean_and_distinct_points) {
    ASSERT_EQ(c.points().size(), std::size_t{1} << GetParam().bits);
    double energy = 0;
    std::complex<double> mean{};
    for (const auto p : c.points()) {
        energy += std::norm(std::complex<double>(p));
        mean += std::complex<double>(p);
    }
    EXPECT_NEAR(energy / static_cast<double>(c.points().size()), 1, 1e-6);
    EXPECT_NEAR(std::abs(mean), 0, 1e-5);
    EXPECT_NEAR(std::sqrt(min_distance2(points_of(c))), 2 * static_cast<double>(c.unit()), 1e-6);
}

TEST_P(every_constellation, slices_every_place_of_the_plane_to_the_nearest_point) {
    // A fine lattice out to far beyond the constellation, shifted off the decision borders.
    std::vector<float> re, im;
    for (int x = -250; x <= 250; ++x)
        for (int y = -250; y <= 250; ++y) {
            re.push_back(static_cast<float>(x) * 0.00813F + 0.0003F);
            im.push_back(static_cast<float>(y) * 0.00811F - 0.0007F);
        }
    std::vector<std::uint8_t> labels(re.size());
    c.slice(re.data(), im.data(), labels.data(), static_cast<int>(re.size()));
    for (std::size_t i = 0; i < re.size(); ++i) {
        const std::complex<double> z(re[i], im[i]);
        const auto best = brute_force(c, z);
        // On a border, points on both sides are nearest.
        ASSERT_NEAR(distance2(z, c.points()[labels[i]]), best.d2, 1e-5)
            << z << " sliced to " << int{labels[i]} << ", nearest is " << best.label;
    }
}

TEST_P(every_constellation, slices_its_own_points_to_their_labels) {
    for (std::size_t label = 0; label < c.points().size(); ++label) {
        const float re = c.points()[label].real();
        const float im = c.points()[label].imag();
        std::uint8_t got;
        c.slice(&re, &im, &got, 1);
        EXPECT_EQ(got, label);
    }
}

TEST_P(every_constellation, gives_the_point_of_each_decision) {
    std::mt19937 random(3);
    std::normal_distribution<float> normal;
    constexpr int n = 1003;
    std::vector<float> re(n), im(n), point_re(n), point_im(n);
    std::vector<std::uint8_t> label(n);
    for (auto* v : {&re, &im})
        for (auto& f : *v) f = normal(random);
    c.slice(re.data(), im.data(), label.data(), n);
    c.points_of(re.data(), im.data(), label.data(), point_re.data(), point_im.data(), n);
    for (std::size_t i = 0; i < n; ++i)
        EXPECT_LT(std::abs(cf32(point_re[i], point_im[i]) - c.points()[label[i]]), 1e-5F) << i;
}

TEST_P(every_constellation, survives_infinite_and_undefined_symbols) {
    const float inf = std::numeric_limits<float>::infinity();
    const float nan = std::numeric_limits<float>::quiet_NaN();
    for (const float re : {inf, -inf, nan, 1e30F, 0.F})
        for (const float im : {inf, -inf, nan, -1e30F, 0.F}) {
            std::vector<float> r(64, re), i(64, im);
            std::vector<std::uint8_t> labels(64, 255);
            c.slice(r.data(), i.data(), labels.data(), 64);
            for (const auto l : labels) ASSERT_LT(int{l}, 1 << GetParam().bits);
        }
}

TEST_P(every_constellation, errs_as_often_as_theory_says) {
    // Noise for a symbol error rate of about 5 %; 400 000 symbols; five standard deviations.
    double n0 = 1;
    const exact_symbol_error_rate theory(c);
    while (theory(n0) > 0.05) n0 *= 0.9;
    const double expected = theory(n0);
    constexpr int count = 400000;
    std::mt19937_64 random(1000U + static_cast<unsigned>(GetParam().bits));
    std::normal_distribution<double> noise(0, std::sqrt(n0 / 2));
    std::vector<float> re(count), im(count);
    std::vector<std::uint8_t> sent(count), got(count);
    for (std::size_t i = 0; i < count; ++i) {
        sent[i] = static_cast<std::uint8_t>(random() % c.points().size());
        re[i] = static_cast<float>(static_cast<double>(c.points()[sent[i]].real()) + noise(random));
        im[i] = static_cast<float>(static_cast<double>(c.points()[sent[i]].imag()) + noise(random));
    }
    c.slice(re.data(), im.data(), got.data(), count);
    int errors = 0;
    for (std::size_t i = 0; i < count; ++i) errors += sent[i] != got[i];
    const double rate = static_cast<double>(errors) / count;
    EXPECT_NEAR(rate, expected, 5 * std::sqrt(expected * (1 - expected) / count));
}

TEST_P(every_constellation, gives_max_log_soft_bits) {
    std::mt19937 random(5);
    std::normal_distribution<float> spread(0, 0.8F);
    constexpr int count = 300;
    const auto k = static_cast<std::size_t>(GetParam().bits);
    std::vector<float> re(count), im(count), weight(count), llr(count * k);
    for (std::size_t i = 0; i < count; ++i) {
        re[i] = spread(random);
        im[i] = spread(random);
        weight[i] = 0.5F + static_cast<float>(i % 7);
    }
    c.soft(re.data(), im.data(), weight.data(), llr.data(), count);
    for (std::size_t i = 0; i < count; ++i)
        for (std::size_t b = 0; b < k; ++b) {
            double best[2] = {1e300, 1e300};
            for (std::size_t label = 0; label < c.points().size(); ++label) {
                auto& d = best[label >> (k - 1 - b) & 1];
                d = std::min(d, distance2({re[i], im[i]}, c.points()[label]));
            }
            const double expected = (best[1] - best[0]) * static_cast<double>(weight[i]);
            ASSERT_NEAR(llr[i * k + b], expected, 1e-4 * (1 + std::abs(expected)));
        }
}

TEST(constellation, squares_are_gray_labelled) {
    for (const int k : {1, 2, 4, 6, 8}) {
        const constellation c(k);
        EXPECT_DOUBLE_EQ(mean_label_distance(points_of(c), identity(c.points().size())), 1) << k;
    }
}

TEST(constellation, crosses_are_nearly_gray_labelled) {
    const constellation c32(5), c128(7);
    EXPECT_LT(mean_label_distance(points_of(c32), identity(32)), 1.16);
    EXPECT_LT(mean_label_distance(points_of(c128), identity(128)), 1.14);
}

TEST(constellation, no_labelling_of_the_star_is_better) {
    const auto p = points_of(constellation(3));
    auto label = identity(8);
    const double table_distance = mean_label_distance(p, label);
    double best = 1e300;
    do best = std::min(best, mean_label_distance(p, label));
    while (std::next_permutation(label.begin() + 1,
                                 label.end()));  // label 0 first: by symmetry of XOR
    EXPECT_DOUBLE_EQ(table_distance, best);
}

TEST(constellation, the_star_is_a_decibel_better_than_the_rectangle_and_more_than_8_psk) {
    std::vector<std::complex<double>> psk;
    for (int i = 0; i < 8; ++i) psk.push_back(std::polar(1.0, std::numbers::pi / 4 * i));
    const auto gain = [](const std::vector<std::complex<double>>& p) {
        double energy = 0;
        for (const auto v : p) energy += std::norm(v) / 8;
        return min_distance2(p) / energy;
    };
    const double star = gain(points_of(constellation(3)));
    const auto other = [&](wip::eight_points set) {
        return gain(points_of(constellation(3, set)));
    };
    EXPECT_NEAR(10 * std::log10(star / other(wip::eight_points::rectangle)), 1.03, 0.01);
    EXPECT_NEAR(10 * std::log10(star / other(wip::eight_points::cross)), 0.65, 0.01);
    EXPECT_NEAR(10 * std::log10(star / gain(psk)), 1.59, 0.01);
}

TEST(constellation, refuses_other_numbers_of_bits) {
    EXPECT_THROW(constellation(0), std::invalid_argument);
    EXPECT_THROW(constellation(9), std::invalid_argument);
}

}  // namespace
