// SPDX-License-Identifier: GPL-3.0-or-later
// liquid-dsp as an independent oracle: where its points are, and which it takes for the nearest.
#include <complex>
//
#include <gtest/gtest.h>
#include <liquid/liquid.h>  // its complex numbers are those of <complex> when that came first

#include <algorithm>
#include <cmath>
#include <memory>
#include <random>
#include <vector>

#include "phy/qam/constellation.h"

namespace {

using wip::phy::cf32;
using wip::phy::constellation;

struct destroy {
    void operator()(modemcf m) const { modemcf_destroy(m); }
};
using modem = std::unique_ptr<modemcf_s, destroy>;

std::vector<cf32> points_of(modemcf m) {
    std::vector<cf32> points(std::size_t{1} << modemcf_get_bps(m));
    for (unsigned int s = 0; s < points.size(); ++s) modemcf_modulate(m, s, &points[s]);
    return points;
}

// The distance to the nearest point of `set`.
float distance_to(const std::vector<cf32>& set, cf32 p) {
    float least = 1e9F;
    for (const cf32 q : set) least = std::min(least, std::abs(p - q));
    return least;
}

struct known_scheme {
    int bits;
    modulation_scheme scheme;
};
class liquid_knows : public testing::TestWithParam<known_scheme> {};
INSTANTIATE_TEST_SUITE_P(
    square_and_cross, liquid_knows,
    testing::Values(known_scheme{1, LIQUID_MODEM_BPSK}, known_scheme{2, LIQUID_MODEM_QPSK},
                    known_scheme{4, LIQUID_MODEM_QAM16}, known_scheme{5, LIQUID_MODEM_SQAM32},
                    known_scheme{6, LIQUID_MODEM_QAM64}, known_scheme{7, LIQUID_MODEM_SQAM128},
                    known_scheme{8, LIQUID_MODEM_QAM256}));

TEST_P(liquid_knows, the_same_points) {
    const modem peer(modemcf_create(GetParam().scheme));
    const auto liquid_points = points_of(peer.get());
    const constellation c(GetParam().bits);
    ASSERT_EQ(liquid_points.size(), c.points().size());
    for (const cf32 p : c.points())
        EXPECT_LT(distance_to(liquid_points, p), 1e-4F) << p;  // their 32 and 128 have four digits
}

class liquid_decides : public testing::TestWithParam<std::pair<int, wip::eight_points>> {};
INSTANTIATE_TEST_SUITE_P(
    sets, liquid_decides,
    testing::Values(std::pair{1, wip::eight_points::star}, std::pair{2, wip::eight_points::star},
                    std::pair{3, wip::eight_points::star}, std::pair{3, wip::eight_points::cross},
                    std::pair{3, wip::eight_points::rectangle},
                    std::pair{4, wip::eight_points::star}, std::pair{5, wip::eight_points::star},
                    std::pair{6, wip::eight_points::star}, std::pair{7, wip::eight_points::star},
                    std::pair{8, wip::eight_points::star}));

// Given our table as an arbitrary modem, noise of half the distance between neighbours.
TEST_P(liquid_decides, for_the_same_label) {
    const constellation c(GetParam().first, GetParam().second);
    std::vector<cf32> table(c.points().begin(), c.points().end());
    const modem peer(
        modemcf_create_arbitrary(table.data(), static_cast<unsigned int>(table.size())));
    constexpr int count = 20000;
    std::mt19937 random(static_cast<unsigned>(GetParam().first));
    std::normal_distribution<float> noise(0, c.unit());
    std::vector<float> re(count), im(count);
    for (int i = 0; i < count; ++i) {
        const cf32 p = table[random() % table.size()];
        re[static_cast<std::size_t>(i)] = p.real() + noise(random);
        im[static_cast<std::size_t>(i)] = p.imag() + noise(random);
    }
    std::vector<std::uint8_t> labels(count);
    c.slice(re.data(), im.data(), labels.data(), count);
    int others = 0;
    for (std::size_t i = 0; i < count; ++i) {
        const cf32 z(re[i], im[i]);
        unsigned int liquid_label = 0;
        modemcf_demodulate(peer.get(), z, &liquid_label);
        if (liquid_label == labels[i]) continue;
        // Labels differ only on a border, where rounding decides.
        EXPECT_NEAR(std::abs(z - table[liquid_label]), std::abs(z - table[labels[i]]), 1e-5F);
        ++others;
    }
    EXPECT_LT(others, 20);
}

}  // namespace
