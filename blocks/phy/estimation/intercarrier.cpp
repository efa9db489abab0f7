// SPDX-License-Identifier: GPL-3.0-or-later
#include "phy/estimation/intercarrier.h"

#include "phy/grid/resource_map.h"
#include "phy/ofdm/slot_extractor.h"

namespace wip::phy {

namespace {
constexpr int half_band = nof_subcarriers / 2;
}

intercarrier::intercarrier() : spectrum_(fft_size), samples_(fft_size), ramp_(2 * fft_size) {
    constexpr double symbol_samples = slot_samples / double{symbols_per_slot};
    for (int i = 0; i < fft_size; ++i) {
        const int in_window = (i + window_advance) % fft_size;
        const double t = (in_window - (fft_size - 1) / 2.0) / symbol_samples;
        ramp_[static_cast<std::size_t>(2 * i)] = ramp_[static_cast<std::size_t>(2 * i + 1)] =
            static_cast<float>(t / fft_size);
    }
}

void intercarrier::work(const plane& v, plane& out) noexcept {
    auto* s = reinterpret_cast<float*>(spectrum_.data());
    const auto fill = [&](int n0) {
        float* to = s + 2 * fft_index(n0);
        for (int i = 0; i < half_band; ++i) {
            to[2 * i] = v.re[n0 + i];
            to[2 * i + 1] = v.im[n0 + i];
        }
    };
    fill(0);
    fill(half_band);
    to_samples_.execute(spectrum_.data(), samples_.data());
    auto* x = reinterpret_cast<float*>(samples_.data());
    for (int i = 0; i < 2 * fft_size; ++i) x[i] *= ramp_[static_cast<std::size_t>(i)];
    to_subcarriers_.execute(samples_.data(), spectrum_.data());
    const auto take = [&](int n0) {
        const float* from = s + 2 * fft_index(n0);
        for (int i = 0; i < half_band; ++i) {
            out.re[n0 + i] = from[2 * i];
            out.im[n0 + i] = from[2 * i + 1];
        }
    };
    take(0);
    take(half_band);
    // What the FFT left on DC and beside the band is not part of the next symbol.
    const auto clear = [&](int from, int to) {
        for (int i = from; i < to; ++i) spectrum_[static_cast<std::size_t>(i)] = {};
    };
    clear(0, 1);
    clear(half_band + 1, fft_size - half_band);
}

}  // namespace wip::phy
