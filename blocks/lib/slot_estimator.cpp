// SPDX-License-Identifier: GPL-3.0-or-later
#include "slot_estimator.h"

#include <algorithm>
#include <cmath>

namespace wip {

namespace {
constexpr int longest_mean = 32;      // slots of the noise variance's mean
constexpr float snr_at_start = 100;   // chooses the estimator's filter until noise is known
constexpr float mean_t2 = 35.F / 12;  // mean square of symbol_time over a slot
constexpr float tiny = 1e-30F;
}  // namespace

slot_estimator::slot_estimator(int cell) : pilots_(cell), control_(cell) {}

void slot_estimator::reset() noexcept {
    estimator_.reset();
    noise_ = signal_ = 0;
    noise_slots_ = 0;
}

phy::cf32 slot_estimator::at(int symbol, int n) const noexcept {
    const float t = phy::symbol_time(symbol);
    return {channel_.middle.re[n] + t * channel_.slope.re[n],
            channel_.middle.im[n] + t * channel_.slope.im[n]};
}

bool slot_estimator::estimate(const slot_planes& y, int slot_in_frame) noexcept {
    grant_ok_ = false;
    float energy = 0;
    for (const auto& p : y)
        for (int n = 0; n < nof_subcarriers; ++n) energy += p.re[n] * p.re[n] + p.im[n] * p.im[n];
    if (!std::isfinite(energy) || !(energy > 0)) return false;
    const auto& pilots = pilots_.of(slot_in_frame);
    const float snr = noise_ > 0 ? signal_ / noise_ : snr_at_start;
    estimator_.from_pilots(y, pilots.data(), snr, channel_);
    grant_ok_ = decode_control(y, slot_in_frame);
    if (grant_ok_) estimator_.from_all(y, pilots.data(), known_.data(), snr, channel_);
    // The pilots alone say little about the noise: their fit leaves few degrees of freedom.
    if (std::isfinite(channel_.noise) && (grant_ok_ || noise_slots_ == 0)) {
        noise_slots_ = std::min(noise_slots_ + 1, longest_mean);
        noise_ += (channel_.noise - noise_) / static_cast<float>(noise_slots_);
    }
    measure_snr();
    return true;
}

bool slot_estimator::decode_control(const slot_planes& y, int slot_in_frame) noexcept {
    std::array<float, phy::code_sent_bits> soft;
    for (std::size_t i = 0; i < phy::nof_control_symbols; ++i) {
        const auto& e = phy::control_elements[i % control_symbols_per_bin];
        const int n =
            static_cast<int>(i) / control_symbols_per_bin * subcarriers_per_bin + e.subcarrier;
        const auto& row = y[static_cast<std::size_t>(e.symbol)];
        const phy::cf32 z = phy::cf32(row.re[n], row.im[n]) * std::conj(at(e.symbol, n));
        soft[2 * i] = z.real();
        soft[2 * i + 1] = z.imag();
    }
    std::array<std::uint8_t, grant_bytes> grant;
    return control_.decode(soft, slot_in_frame, grant, known_);
}

void slot_estimator::measure_snr() noexcept {
    float total = 0;
    for (std::size_t b = 0; b < nof_bins; ++b) {
        float power = 0;
        for (std::size_t n = b * subcarriers_per_bin; n < (b + 1) * subcarriers_per_bin; ++n)
            power += channel_.middle.re[n] * channel_.middle.re[n] +
                     channel_.middle.im[n] * channel_.middle.im[n] +
                     mean_t2 * (channel_.slope.re[n] * channel_.slope.re[n] +
                                channel_.slope.im[n] * channel_.slope.im[n]);
        power = power / subcarriers_per_bin + channel_.error * noise_;
        total += power;
        snr_[b] = power / (noise_ + tiny);
    }
    signal_ += (total / nof_bins - signal_) / static_cast<float>(std::max(noise_slots_, 1));
}

void slot_estimator::equalise(const slot_planes& y, std::complex<float>* out) const noexcept {
    for (int l = 0; l < symbols_per_slot; ++l) {
        const auto& row = y[static_cast<std::size_t>(l)];
        for (int n = 0; n < nof_subcarriers; ++n) {
            const phy::cf32 h = at(l, n);
            *out++ = phy::cf32(row.re[n], row.im[n]) * std::conj(h) / (std::norm(h) + tiny);
        }
    }
}

}  // namespace wip
