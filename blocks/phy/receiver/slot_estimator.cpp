// SPDX-License-Identifier: GPL-3.0-or-later
#include "phy/receiver/slot_estimator.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "phy/math/lane_sum.h"
#include "phy/math/turn.h"

namespace wip::phy {

namespace {

constexpr int longest_mean = 32;      // slots of the noise variance's mean
constexpr float bin_memory = 64;      // slots of the noise of single bins
constexpr float least_excess = 1.6F;  // over the median, to count as interference
constexpr float snr_at_start = 100;   // chooses the estimator's filter until noise is known
constexpr float mean_t2 = 35.F / 12;  // mean square of symbol_time over a slot
constexpr float tiny = 1e-30F;

// Sum of |x|^2 over the used subcarriers.
float power_of(const plane& p) noexcept {
    return lane_sum(nof_subcarriers,
                    [&](auto at) {
                        const auto re = at(p.re), im = at(p.im);
                        return lane_terms{re * re + im * im};
                    })
        .of[0];
}

// Sums over the bins in lanes of four subcarriers, so that the compiler may put them into registers
// of any width.
constexpr std::size_t sum_lanes = 8, bin_floats = 2 * subcarriers_per_bin;
static_assert(bin_floats % sum_lanes == 0);
using bin_sums = std::array<cf32, nof_bins>;

const float* floats_of(std::span<const cf32, nof_subcarriers> channel, std::size_t bin) noexcept {
    return reinterpret_cast<const float*>(&channel[bin * subcarriers_per_bin]);
}

bin_sums sums_of(std::span<const cf32, nof_subcarriers> channel) noexcept {
    bin_sums out;
    for (std::size_t b = 0; b < nof_bins; ++b) {
        const float* h = floats_of(channel, b);
        std::array<float, sum_lanes> v{};
        for (std::size_t c = 0; c < bin_floats; c += sum_lanes)
            for (std::size_t l = 0; l < sum_lanes; ++l) v[l] += h[c + l];
        out[b] = {(v[0] + v[4]) + (v[2] + v[6]), (v[1] + v[5]) + (v[3] + v[7])};
    }
    return out;
}

// Each subcarrier times e^(-2 pi j c window / fft_size), c from the middle of the bin.
bin_sums sums_about(std::span<const cf32, nof_subcarriers> channel, int window) noexcept {
    alignas(vector_alignment) std::array<float, bin_floats> for_re, for_im;
    const double step = -2 * std::numbers::pi * window / fft_size;
    const auto to_next = turn_by(step);
    auto turned = turn_by(-step * (subcarriers_per_bin - 1) / 2);
    for (std::size_t c = 0; c < bin_floats; c += 2, turned *= to_next) {
        const cf32 by(turned);
        for_re[c] = for_im[c + 1] = by.real();
        for_re[c + 1] = -by.imag();
        for_im[c] = by.imag();
    }
    const auto sum = [](const std::array<float, sum_lanes>& v) {
        return ((v[0] + v[4]) + (v[2] + v[6])) + ((v[1] + v[5]) + (v[3] + v[7]));
    };
    bin_sums out;
    for (std::size_t b = 0; b < nof_bins; ++b) {
        const float* h = floats_of(channel, b);
        std::array<float, sum_lanes> re{}, im{};
        for (std::size_t c = 0; c < bin_floats; c += sum_lanes)
            for (std::size_t l = 0; l < sum_lanes; ++l) {
                re[l] += h[c + l] * for_re[c + l];
                im[l] += h[c + l] * for_im[c + l];
            }
        out[b] = {sum(re), sum(im)};
    }
    return out;
}

}  // namespace

std::array<cf32, nof_bins> mean_gains(std::span<const cf32, nof_subcarriers> channel, double turn,
                                      double shift, int window) noexcept {
    bin_sums out = window == 0 ? sums_of(channel) : sums_about(channel, window);
    const double tilt = -2 * std::numbers::pi * shift / fft_size;  // radians a subcarrier
    const auto to_bin = turn_by(tilt * subcarriers_per_bin);
    auto turned = turn_by(turn - tilt * (nof_bins / 2 * subcarriers_per_bin));
    for (auto& gain : out) {
        gain = cf32(turned) * gain / float{subcarriers_per_bin};
        turned *= to_bin;
    }
    return out;
}

db reported_snr(float ratio) noexcept {
    return db(decibels(std::min(std::max(ratio, 1e-2F), 1e6F)));
}

slot_estimator::slot_estimator(sender from, control_kind kind, int terminal)
    : kind_(kind),
      terminal_(static_cast<std::size_t>(terminal)),
      pilots_(from),
      control_(from, kind) {
    reset();
}

void slot_estimator::set_sender(sender from) noexcept {
    pilots_ = pilots(from);
    control_.set_sender(from);
}

void slot_estimator::reset() noexcept {
    estimator_.reset();
    noise_ = signal_ = 0;
    forget_noise();
}

void slot_estimator::forget_noise() noexcept {
    noise_slots_ = 0;
    residual_.fill(0);
    freedom_.fill(0);
    excess_.fill(1);
}

cf32 slot_estimator::at(int symbol, int n) const noexcept {
    const float t = symbol_time(symbol);
    return {channel_.middle.re[n] + t * channel_.slope.re[n],
            channel_.middle.im[n] + t * channel_.slope.im[n]};
}

bool slot_estimator::estimate(const slot_planes& y, int slot_in_frame,
                              const std::optional<grant_due>& due, cf32 image) noexcept {
    grant_.reset();
    control_ok_ = false;
    energy_ = 0;
    float energy = 0;
    for (const auto& p : y) energy += power_of(p);
    if (!std::isfinite(energy) || !(energy > 0)) return false;
    energy_ = energy;
    slot_in_frame_ = slot_in_frame;
    image_ = image;
    const auto& sent = pilots_.of(slot_in_frame);
    const float snr = noise_ > 0 ? signal_ / noise_ : snr_at_start;
    estimator_.from_pilots(y, sent.data(), snr, channel_);
    pilots_error_ = channel_.error;
    decode_control(y, slot_in_frame, due);
    if (control_ok_) {
        add_image(y);
        estimator_.from_all(y, with_image_.data(), with_image_.data() + nof_pilots, snr, channel_);
    } else {
        estimator_.try_wider(snr, channel_);
    }
    for (std::size_t n = 0; n < nof_subcarriers; ++n)
        middle_[n] = {channel_.middle.re[n], channel_.middle.im[n]};
    update_noise();
    measure_snr();
    if (channel_.move_window != 0) forget_noise();  // a part of the residual was the channel
    return true;
}

// Channel and elements of the control symbols side by side, so that the products are vector loops.
void slot_estimator::decode_control(const slot_planes& y, int slot_in_frame,
                                    const std::optional<grant_due>& due) noexcept {
    constexpr std::size_t count = nof_control_symbols;
    alignas(vector_alignment) std::array<float, count> hr, hi, yr, yi;
    for (std::size_t i = 0; i < count; ++i) {
        const auto& e = control_elements[i % control_symbols_per_bin];
        const std::size_t n = i / control_symbols_per_bin * subcarriers_per_bin +
                              static_cast<std::size_t>(e.subcarrier);
        const float t = symbol_time(e.symbol);
        const auto& row = y[static_cast<std::size_t>(e.symbol)];
        hr[i] = channel_.middle.re[n] + t * channel_.slope.re[n];
        hi[i] = channel_.middle.im[n] + t * channel_.slope.im[n];
        yr[i] = row.re[n];
        yi[i] = row.im[n];
    }
    std::array<float, code_sent_bits> soft;
    for (std::size_t i = 0; i < count; ++i) {
        soft[2 * i] = yr[i] * hr[i] + yi[i] * hi[i];
        soft[2 * i + 1] = yi[i] * hr[i] - yr[i] * hi[i];
    }
    control_.order(soft, slot_in_frame, control_bits_);
    if (!control_.decode(control_bits_, slot_in_frame, due, packed_, known_)) return;
    if (kind_ != control_kind::feedback) grant_ = read_grant();
    control_ok_ = grant_ || kind_ == control_kind::feedback;
    if (!control_ok_) return;
    std::array<float, count> error;
    const auto* x = reinterpret_cast<const float*>(known_.data());
    for (std::size_t i = 0; i < count; ++i) {
        const float inverse = 1 / (hr[i] * hr[i] + hi[i] * hi[i] + tiny);
        const float dr = soft[2 * i] * inverse - x[2 * i];
        const float di = soft[2 * i + 1] * inverse - x[2 * i + 1];
        error[i] = dr * dr + di * di;
    }
    const float sum = lane_sum(count, [&](auto at) { return lane_terms{at(error.data())}; }).of[0];
    evm_percent_ = 100 * std::sqrt(static_cast<double>(sum) / nof_control_symbols);
}

// The only profile on the air is `radio`: wipemu has no frame check.
std::optional<slot_grant> slot_estimator::read_grant() const noexcept {
    if (kind_ == control_kind::grant) return unpack_grant(packed_, link_profile::radio);
    const auto all = unpack_common_grant(packed_, link_profile::radio);
    if (!all) return std::nullopt;
    return all->of[terminal_];
}

// The known elements with the transmitter's IQ image. Two thirds of them are mirrored by known
// elements, the others by payload, for which the equalised values are taken.
void slot_estimator::add_image(const slot_planes& y) noexcept {
    std::copy_n(pilots_.of(slot_in_frame_).begin(), nof_pilots, with_image_.begin());
    std::copy_n(known_.begin(), nof_control_symbols, with_image_.begin() + nof_pilots);
    if (image_ == cf32()) return;
    equalise(y, sent_.data(), noise_);
    for (std::size_t i = 0; i < nof_known; ++i) sent_[estimator_.place(i)] = with_image_[i];
    for (std::size_t i = 0; i < nof_known; ++i) {
        constexpr std::size_t row = nof_subcarriers;
        const std::size_t at = estimator_.place(i), mirrored = at / row * row + row - 1 - at % row;
        with_image_[i] = 1.F / std::conj(with_image_[i] + image_ * std::conj(sent_[mirrored]));
    }
}

// The factor for amplitudes of +-1 / sqrt 2 with half of the noise variance in each coordinate.
float slot_estimator::control_scale() const noexcept {
    return 2 * std::numbers::sqrt2_v<float> / (noise_ * (1 + pilots_error_) + tiny);
}

void slot_estimator::update_noise() noexcept {
    if (!std::isfinite(channel_.noise)) return;
    find_interference();
    float residual = 0, freedom = 0;
    for (std::size_t b = 0; b < nof_bins; ++b)
        if (excess_[b] == 1) {
            residual += channel_.bin_residual[b];
            freedom += channel_.bin_freedom[b];
        }
    noise_slots_ = std::min(noise_slots_ + 1, longest_mean);
    const float weight = control_ok_ || noise_slots_ == 1 ? 1.F : 0.25F;
    const float now = residual / freedom;
    const float noise = std::max(now - curvature_power(channel_), 0.5F * now);
    noise_ += weight * (noise - noise_) / static_cast<float>(noise_slots_);
    for (std::size_t b = 0; b < nof_bins; ++b) bin_noise_[b] = noise_ * excess_[b];
}

// The power per element by which Clarke's channel differs from a straight line in time on the known
// elements: with w = 2 pi f times a symbol, the slope has the power w^2/2 and the curvature c =
// h''/2 (3/32) w^4; (t^2 - 35/12) has the mean square 6.2 over the slot.
float slot_estimator::curvature_power(const channel_estimate& channel) noexcept {
    const float slope = power_of(channel.slope), power = power_of(channel.middle);
    return 6.2F * 3 / 8 * slope * slope / (power + tiny) / nof_subcarriers;
}

// At least half of the bins stay below the threshold, so the sums of update_noise are not empty.
void slot_estimator::find_interference() noexcept {
    std::array<float, nof_bins> level, sorted;
    for (std::size_t b = 0; b < nof_bins; ++b) {
        residual_[b] += channel_.bin_residual[b] - residual_[b] / bin_memory;
        freedom_[b] += channel_.bin_freedom[b] - freedom_[b] / bin_memory;
        level[b] = sorted[b] = residual_[b] / freedom_[b];
    }
    std::nth_element(sorted.begin(), sorted.begin() + nof_bins / 2, sorted.end());
    const float median = sorted[nof_bins / 2];
    const bool enough = noise_slots_ >= longest_mean;
    for (std::size_t b = 0; b < nof_bins; ++b)
        excess_[b] = enough && level[b] > least_excess * median ? level[b] / median : 1;
}

// Mean of |a + t b|^2 over the slot: |a|^2 + mean(t^2) |b|^2, and what the estimate lacks.
void slot_estimator::measure_snr() noexcept {
    const auto& a = channel_.middle;
    const auto& s = channel_.slope;
    std::array<float, nof_subcarriers> mean;
    for (std::size_t n = 0; n < nof_subcarriers; ++n)
        mean[n] = a.re[n] * a.re[n] + a.im[n] * a.im[n] +
                  mean_t2 * (s.re[n] * s.re[n] + s.im[n] * s.im[n]);
    float total = 0;
    for (std::size_t b = 0; b < nof_bins; ++b) {
        float power = 0;
        for (std::size_t n = b * subcarriers_per_bin; n < (b + 1) * subcarriers_per_bin; ++n)
            power += mean[n];
        power = power / subcarriers_per_bin + channel_.bin_error[b] * bin_noise_[b];
        total += power;
        power_[b] = power;
        snr_[b] = power / (bin_noise_[b] + tiny);
    }
    signal_ += (total / nof_bins - signal_) / static_cast<float>(std::max(noise_slots_, 1));
}

// Bins with interference are scaled to the noise of the others: power over noise stays the SNR.
bin_measurement slot_estimator::measurement(double turn, double shift, int window) const noexcept {
    bin_measurement m;
    m.gain = mean_gains(middle_, turn, shift, window);
    m.power = power_;
    m.noise = noise_;
    m.gain_noise = channel_.error * noise_;
    if (!control_ok_) m.known = pilots_per_bin;
    for (std::size_t b = 0; b < nof_bins; ++b)
        if (excess_[b] > 1) {
            m.power[b] /= excess_[b];
            m.gain[b] /= std::sqrt(excess_[b]);
        }
    return m;
}

band_points slot_estimator::points(double turn, double shift) const noexcept {
    constexpr double first = (subcarriers_per_bin - 1) / 2.0 - point_subcarriers;
    constexpr auto below = static_cast<std::size_t>(first);
    constexpr auto part = static_cast<float>(first - static_cast<double>(below));
    constexpr std::size_t last = subcarriers_per_bin - 1;
    band_points out;
    const double tilt = -2 * std::numbers::pi * shift / fft_size;  // radians a subcarrier
    const cf32 to_next(turn_by(tilt * 2 * point_subcarriers));
    const std::complex<double> to_bin = turn_by(tilt * subcarriers_per_bin);
    std::complex<double> turned =
        turn_by(turn - tilt * (nof_bins / 2 * subcarriers_per_bin + point_subcarriers));
    for (std::size_t b = 0; b < nof_bins; ++b) {
        const cf32* h = middle_.data() + b * subcarriers_per_bin;
        float power = 0;
        for (std::size_t c = 0; c < subcarriers_per_bin; ++c)
            power += h[c].real() * h[c].real() + h[c].imag() * h[c].imag();
        const cf32 low = h[below] + part * (h[below + 1] - h[below]);
        const cf32 high = h[last - below] + part * (h[last - below - 1] - h[last - below]);
        out.between[b] =
            (power / subcarriers_per_bin - (std::norm(low) + std::norm(high)) / 2) / excess_[b];
        const cf32 turn_low = cf32(turned) / (channel_.bin_share[b] * std::sqrt(excess_[b]));
        const cf32 now[points_per_bin] = {low * turn_low, high * turn_low * to_next};
        for (std::size_t p = 0; p < points_per_bin; ++p) {
            out.re[points_per_bin * b + p] = now[p].real();
            out.im[points_per_bin * b + p] = now[p].imag();
        }
        turned *= to_bin;
    }
    return out;
}

void slot_estimator::rescale(float factor) noexcept {
    noise_ *= factor;
    signal_ *= factor;
    for (std::size_t b = 0; b < nof_bins; ++b) {
        residual_[b] *= factor;
        bin_noise_[b] *= factor;
        snr_[b] /= factor;
    }
}

void slot_estimator::equalise(const slot_planes& y, cf32* out, float noise) const noexcept {
    for (int l = 0; l < symbols_per_slot; ++l) {
        const auto& row = y[static_cast<std::size_t>(l)];
        for (int n = 0; n < nof_subcarriers; ++n) {
            const cf32 h = at(l, n);
            *out++ = cf32(row.re[n], row.im[n]) * std::conj(h) / (std::norm(h) + noise + tiny);
        }
    }
}

}  // namespace wip::phy
