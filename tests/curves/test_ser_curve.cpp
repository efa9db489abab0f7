// SPDX-License-Identifier: GPL-3.0-or-later
// Symbol error rate against SNR through the whole PHY (modulator, white noise, acquisition,
// tracking, channel estimate, equaliser, detector) for all eight constellations, beside exact
// theory. The price of estimating the channel is bounded: every point lies between theory at its
// SNR and theory 0.25 dB lower, five standard deviations allowed.
#include <gtest/gtest.h>

#include <cstdio>

#include "../unit/phy/phy_link.h"
#include "../unit/phy/symbol_error_theory.h"
#include "phy/coding/frame_coder.h"
#include "phy/grid/sequence.h"

namespace {

using namespace wip;
using namespace wip::phy;
using namespace wip::phy::test;

double snr_for(const exact_symbol_error_rate& theory, double rate) {
    double low = -10, high = 50;
    while (high - low > 0.01) {
        const double middle = (low + high) / 2;
        (theory(std::pow(10, -middle / 10)) > rate ? low : high) = middle;
    }
    return high;
}

double measure(int k, double snr_db, int slots) {
    slot_modulator modulator({});
    slot_receiver receiver({});
    slot_source source(k, 77);
    sample_channel channel({.snr_db = 30, .seed = static_cast<std::uint32_t>(100 + k)});
    const constellation points(k);
    std::int64_t errors = 0, symbols = 0;
    for (std::int64_t air = 150; air < 150 + 64 + slots; ++air) {
        // locks at a high SNR, and settles at the SNR of the point
        if (air == 150 + 32) channel.set.snr_db = snr_db;
        const auto s = source.make(slot(air));
        receiver.process(first_sample(slot(air)), channel.pass(modulate(modulator, s)),
                         [&](const received_slot& r) {
                             if (air < 150 + 64 || !r.grant_ok) return;
                             for (std::size_t b = 0; b < nof_bins; ++b) {
                                 label_array sent{};
                                 encode_frame(s.payload[b], k,
                                              payload_key(0, s.grant.bins[b].sn, 0), sent);
                                 for (std::size_t i = 0; i < nof_labels; ++i) {
                                     const float re = r.bins[b].symbols[i].real();
                                     const float im = r.bins[b].symbols[i].imag();
                                     std::uint8_t got;
                                     points.slice(&re, &im, &got, 1);
                                     errors += got != sent[i];
                                     ++symbols;
                                 }
                             }
                         });
    }
    EXPECT_GT(symbols, slots * 1000);
    return static_cast<double>(errors) / static_cast<double>(symbols);
}

class symbol_error_curve : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(bits, symbol_error_curve, testing::Range(1, 9));

TEST_P(symbol_error_curve, follows_theory_within_a_quarter_of_a_db) {
    const exact_symbol_error_rate theory{constellation(GetParam())};
    for (const double rate : {0.1, 0.01, 0.001}) {
        const double snr = std::max(snr_for(theory, rate), 4.0);  // at a lower SNR grants get lost
        constexpr int slots = 60;
        const double measured = measure(GetParam(), snr, slots);
        const double best = theory(std::pow(10, -snr / 10));
        const double worst = theory(std::pow(10, -(snr - 0.25) / 10));
        const double n = slots * 2700.0;
        std::printf("k %d  SNR %6.2f dB  measured %.5f  theory %.5f  theory at -0.25 dB %.5f\n",
                    GetParam(), snr, measured, best, worst);
        EXPECT_GE(measured, best - 5 * std::sqrt(best / n));
        EXPECT_LE(measured, worst + 5 * std::sqrt(worst / n));
    }
}

}  // namespace
