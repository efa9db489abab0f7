// SPDX-License-Identifier: GPL-3.0-or-later
#include "phy/ofdm/slot_extractor.h"

#include <volk/volk.h>

#include <numbers>

#include "phy/grid/resource_map.h"
#include "phy/grid/signal_level.h"
#include "phy/math/product.h"
#include "phy/math/turn.h"

namespace wip::phy {

namespace {
constexpr double two_pi = 2 * std::numbers::pi;
}  // namespace

slot_extractor::slot_extractor()
    : rotation_(fft_size),
      window_(fft_size),
      spectrum_(fft_size),
      scale_(1 / (fft_size * symbol_amplitude())) {
    cfo_ = 1;
    set_cfo(0);
    fraction_ = 1;
    set_fraction(0);
}

// Both tables are products of a coarse and a fine table: 60 calls of sincos instead of 768.
void slot_extractor::set_cfo(double hz) noexcept {
    if (hz == cfo_) return;
    cfo_ = hz;
    const double step = -two_pi * hz / static_cast<double>(sample_rate_hz);
    std::array<cf32, 32> fine;
    for (std::size_t i = 0; i < fine.size(); ++i)
        fine[i] = cf32(turn_by(step * static_cast<double>(i)));
    for (std::size_t c = 0; c < fft_size; c += fine.size()) {
        const auto coarse = cf32(turn_by(step * static_cast<double>(c)));
        for (std::size_t i = 0; i < fine.size(); ++i) rotation_[c + i] = product(coarse, fine[i]);
    }
}

// The fraction may have any value, in every slot: a choice between some fractions could depend on
// the last bit of a sum. Powers of one turn instead of 70 calls of sincos.
void slot_extractor::set_fraction(double samples) noexcept {
    if (samples == fraction_) return;
    fraction_ = samples;
    const double step = two_pi * (window_advance + samples) / fft_size;
    std::array<cf32, subcarriers_per_bin> fine;
    const auto by_one = turn_by(step), by_bin = turn_by(step * subcarriers_per_bin);
    std::complex<double> power = 1;
    for (cf32& f : fine) {
        f = cf32(power);
        power *= by_one;
    }
    for (int half = 0; half < 2; ++half) {
        auto first = turn_by(step * signed_subcarrier(half * 250));
        for (int c = 0; c < 250; c += subcarriers_per_bin, first *= by_bin) {
            const int n0 = half * 250 + c;
            const cf32 coarse(first);
            for (int i = 0; i < subcarriers_per_bin && c + i < 250; ++i) {
                const cf32 v = product(coarse, fine[static_cast<std::size_t>(i)]);
                ramp_.re[n0 + i] = v.real();
                ramp_.im[n0 + i] = v.imag();
            }
        }
    }
}

void slot_extractor::extract(const cf32* samples, double phase,
                             std::array<plane, symbols_per_slot>& out) noexcept {
    for (int l = 0; l < symbols_per_slot; ++l) {
        const auto ul = static_cast<std::size_t>(l);
        const int start = symbol_offset(l) + prefix_samples[ul] - window_advance;
        volk_32fc_x2_multiply_32fc(window_.data(), samples + start, rotation_.data(), fft_size);
        to_subcarriers_.execute(window_.data(), spectrum_.data());
        const double angle = -(phase + two_pi * cfo_ * start / static_cast<double>(sample_rate_hz));
        const auto w = cf32(turn_by(angle)) * scale_;
        const float wr = w.real();
        const float wi = w.imag();
        const auto half = [&](const cf32* in, int n0) {
            const auto* v = reinterpret_cast<const float*>(in);
            for (int i = 0; i < 250; ++i) {
                const float rr = ramp_.re[n0 + i] * wr - ramp_.im[n0 + i] * wi;
                const float ri = ramp_.re[n0 + i] * wi + ramp_.im[n0 + i] * wr;
                out[ul].re[n0 + i] = v[2 * i] * rr - v[2 * i + 1] * ri;
                out[ul].im[n0 + i] = v[2 * i] * ri + v[2 * i + 1] * rr;
            }
        };
        half(spectrum_.data() + fft_index(0), 0);
        half(spectrum_.data() + fft_index(250), 250);
    }
}

}  // namespace wip::phy
