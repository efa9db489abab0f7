// SPDX-License-Identifier: GPL-3.0-or-later
#include "vusrp/analog_filter.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstring>
#include <numbers>
#include <utility>

#include "sample/fractional_delay.h"
#include "types/lanes.h"

namespace wip::vusrp {
namespace {

constexpr int points = 512;          // points of the spectrum
constexpr double no_loss_db = 0.05;  // loss at half the sample rate below which there is no filter
// Share of the energy that the cut tail of the impulse response may have.
constexpr double left_out = 1e-7;
using spectrum = std::vector<std::complex<double>>;

double power(const analog_shape& shape, double bandwidth, double hz) {
    const double third = hz / shape.butterworth.corner(bandwidth);
    const double first = hz / shape.pole.corner(bandwidth);
    return 1 / ((1 + std::pow(third, 6)) * (1 + first * first));
}

// The discrete Fourier transform by its definition, since there are few points and few calls.
spectrum dft(const spectrum& in, double sign) {
    spectrum turn(points), out(points);
    for (int i = 0; i < points; ++i)
        turn[std::size_t(i)] = std::polar(1.0, sign * 2 * std::numbers::pi * i / points);
    for (int k = 0; k < points; ++k)
        for (int i = 0; i < points; ++i)
            out[std::size_t(k)] += in[std::size_t(i)] * turn[std::size_t(i * k % points)];
    return out;
}

}  // namespace

// The minimum-phase filter has the causal half of the cepstrum, doubled.
std::vector<float> filter_taps(const analog_shape& shape, double bandwidth, double sample_rate) {
    if (-10 * std::log10(power(shape, bandwidth, sample_rate / 2)) < no_loss_db) return {};
    spectrum log_amplitude(points);
    for (int i = 0; i < points; ++i)
        log_amplitude[std::size_t(i)] =
            0.5 * std::log(power(shape, bandwidth, std::min(i, points - i) * sample_rate / points));
    spectrum cepstrum = dft(log_amplitude, 1);
    for (int i = 0; i < points; ++i) {
        const double fold = i % (points / 2) == 0 ? 1 : i < points / 2 ? 2 : 0;
        cepstrum[std::size_t(i)] *= fold / points;
    }
    spectrum response = dft(cepstrum, -1);
    for (auto& r : response) r = std::exp(r);
    const spectrum impulse = dft(response, 1);
    double energy = 0, rest = 0;
    for (const auto& h : impulse) energy += std::norm(h);
    auto last = impulse.size();
    while (last > 1 && (rest += std::norm(impulse[last - 1])) < left_out * energy) --last;
    std::vector<float> taps(last);
    for (std::size_t i = 0; i < last; ++i) taps[i] = static_cast<float>(impulse[i].real() / points);
    return taps;
}

delayed_taps delay_taps(std::vector<float> taps, double samples) {
    if (!(samples > 0)) return {std::move(taps), 0};
    if (taps.empty()) taps = {1};
    constexpr int half_width = 8;
    const sample_model::delay_kernel kernel(half_width, false);
    const double first = std::max(std::ceil(samples - half_width), 0.0);
    std::vector<double> shifted(2 * half_width);
    for (std::size_t i = 0; i < shifted.size(); ++i)
        shifted[i] = kernel.exact(first + static_cast<double>(i) - samples);
    std::vector<float> all(taps.size() + shifted.size() - 1);
    for (std::size_t i = 0; i < taps.size(); ++i)
        for (std::size_t k = 0; k < shifted.size(); ++k)
            all[i + k] += static_cast<float>(taps[i] * shifted[k]);
    return {std::move(all), static_cast<std::int64_t>(first)};
}

analog_filter::analog_filter(const radio_model& model, side s)
    : shape_(model.filter(s)),
      bandwidth_(model.bandwidth(s)),
      rate_(model.rate(s).hz()),
      delay_(model.chain_delay(s)),
      history_(2 * points) {
    if (shape_) return;  // work() makes the taps when it knows the bandwidth
    delayed_taps made = delay_taps({}, delay_);
    taps_ = std::move(made.taps);
    first_tap_ = made.first;
}

void analog_filter::work(std::int64_t first, std::span<const air::cf32> in,
                         std::span<air::cf32> out) {
    const double bandwidth = bandwidth_->load(std::memory_order_relaxed);
    if (shape_ && bandwidth != made_for_) {
        delayed_taps made = delay_taps(filter_taps(*shape_, bandwidth, rate_), delay_);
        taps_ = std::move(made.taps);
        first_tap_ = made.first;
        made_for_ = bandwidth;
    }
    if (taps_.empty()) {
        if (in.data() != out.data()) std::copy(in.begin(), in.end(), out.begin());
        return;
    }
    if (first != history_.end()) history_.restart(first);
    while (!in.empty()) {
        const std::size_t n = std::min<std::size_t>(in.size(), history_.largest_append);
        history_.append(in.first(n));
        convolve(first, out.first(n));
        first += static_cast<std::int64_t>(n);
        in = in.subspan(n);
        out = out.subspan(n);
    }
}

// Computes whole vectors; values after the end of `out` are discarded.
void analog_filter::convolve(std::int64_t first, std::span<air::cf32> out) const noexcept {
    for (std::size_t i = 0; i < out.size(); i += nof_lanes) {
        lanes re{}, im{};
        const std::int64_t newest = first + static_cast<std::int64_t>(i) - first_tap_;
        const float* x = history_.re(newest);
        const float* y = history_.im(newest);
        for (const float c : taps_) {
            lanes a, b;
            std::memcpy(&a, x--, sizeof a);
            std::memcpy(&b, y--, sizeof b);
            re += c * a;
            im += c * b;
        }
        const std::size_t whole = std::min<std::size_t>(nof_lanes, out.size() - i);
        for (std::size_t l = 0; l < whole; ++l) out[i + l] = {re[l], im[l]};
    }
}

}  // namespace wip::vusrp
