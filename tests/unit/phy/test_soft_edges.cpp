// SPDX-License-Identifier: GPL-3.0-or-later
// Symbols that fade into each other: what is left of the sidelobes, and that the receiver's windows
// do not see it.
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <stdexcept>
#include <vector>

#include "phy_link.h"

namespace {

using namespace wip;
using namespace wip::phy;
using namespace wip::phy::test;

constexpr std::size_t slot_size = slot_samples;

std::vector<cf32> slots_of(int edge, int count, std::int64_t first = 150) {
    slot_modulator modulator({.edge_samples = edge});
    slot_source source(6, 3);
    std::vector<cf32> all;
    for (int i = 0; i < count; ++i) {
        const auto x = modulate(modulator, source.make(slot(first + i)));
        all.insert(all.end(), x.begin(), x.end());
    }
    return all;
}

// Mean power in a band, Hz, by a Blackman window of 768 samples (10 kHz) every 500.
double band_power(const std::vector<cf32>& x, double low, double high) {
    constexpr std::size_t size = 768;
    double sum = 0;
    for (int f = static_cast<int>(low / 10e3); f <= static_cast<int>(high / 10e3); ++f)
        for (std::size_t at = 0; at + size <= x.size(); at += 500) {
            std::complex<double> s;
            for (std::size_t i = 0; i < size; ++i) {
                const double t = 2 * std::numbers::pi * (double(i) + 0.5) / size;
                const double w = 0.42 - 0.5 * std::cos(t) + 0.08 * std::cos(2 * t);
                s += w * std::complex<double>(x[at + i]) *
                     std::polar(1.0, -2 * std::numbers::pi * f * double(i) / size);
            }
            sum += std::norm(s);
        }
    return sum;
}

// The part of the neighbour's 4.5 MHz at 5 MHz within 7.68 MS/s, which holds the most.
double leakage_db(int edge) {
    const auto x = slots_of(edge, 6);
    return 10 * std::log10(band_power(x, 2.75e6, 3.83e6) / band_power(x, -2.5e6, 2.5e6));
}

TEST(SoftEdges, take_the_sidelobes_off) {
    EXPECT_GT(leakage_db(0), -40);
    EXPECT_LT(leakage_db(8), -44);
    EXPECT_LT(leakage_db(16), -50);
}

// Beyond the edge every sample is what it was: the FFT window begins 45 into the prefix.
TEST(SoftEdges, leave_the_windows_of_a_receiver_alone) {
    const auto hard = slots_of(0, 3), soft = slots_of(40, 3);
    for (std::size_t s = 0; s < 3; ++s)
        for (int l = 0; l < symbols_per_slot; ++l)
            for (int i = 40; i < prefix_samples[std::size_t(l)] + fft_size; ++i) {
                const std::size_t n = s * slot_size + std::size_t(symbol_offset(l) + i);
                ASSERT_EQ(hard[n], soft[n]) << s << " " << l << " " << i;
            }
    EXPECT_NE(hard[slot_size], soft[slot_size]);
}

TEST(SoftEdges, a_slot_continues_the_one_before_and_no_other) {
    slot_modulator modulator({.edge_samples = 16});
    slot_source source(4, 1);
    const auto a = source.make(slot(150)), b = source.make(slot(151));
    modulate(modulator, a);
    const auto continued = modulate(modulator, b);
    slot_modulator fresh({.edge_samples = 16});
    const auto begun = modulate(fresh, b);
    EXPECT_NE(continued[3], begun[3]);
    EXPECT_LT(std::abs(begun[0]), 0.02f * std::abs(continued[0]) + 0.01f);  // the burst fades in
    EXPECT_TRUE(std::equal(continued.begin() + 16, continued.end(), begun.begin() + 16));
}

TEST(SoftEdges, a_wrong_length_is_refused) {
    EXPECT_THROW(slot_modulator({.edge_samples = 41}), std::invalid_argument);
    EXPECT_THROW(slot_modulator({.edge_samples = -1}), std::invalid_argument);
}

}  // namespace
