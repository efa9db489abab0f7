// SPDX-License-Identifier: GPL-3.0-or-later
#include "bin/power_prediction.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <stdexcept>
#include <string>

#include "bin/bin_response.h"
#include "types/require.h"

namespace wip::bin_model {
namespace {

constexpr double rate = static_cast<double>(sample_rate_hz);
constexpr double error_doppler_hz = 125;
constexpr double least_nmse = 1e-4;

sample_model::delay_profile error_profile() {
    sample_model::delay_profile p{"error", {}};
    for (int i = 0; i < 8; ++i) p.taps.push_back({.delay_s = i * 300e-9});
    return p;
}

// exp(-x) I0(x)
double scaled_bessel_i0(double x) {
    if (x < 40) return std::exp(-x) * std::cyl_bessel_i(0.0, x);
    return (1 + 1 / (8 * x) + 9 / (128 * x * x)) / std::sqrt(2 * std::numbers::pi * x);
}

}  // namespace

power_prediction::histogram power_prediction::histogram_of(const trace_channel& trace) {
    constexpr std::size_t cells = 1024;
    double largest = 0;
    for (const trace_row& row : trace.linear())
        for (const float g : row) largest = std::max(largest, static_cast<double>(g));
    const double scale = cells / (std::sqrt(largest) * (1 + 1e-9));
    std::vector<double> count(cells), sum(cells);
    for (const trace_row& row : trace.linear())
        for (const float g : row) {
            const double v = static_cast<double>(g);
            const auto cell = static_cast<std::size_t>(std::sqrt(v) * scale);
            count[cell] += 1;
            sum[cell] += v;
        }
    const double total = static_cast<double>(trace.linear().size()) * nof_bins;
    histogram h;
    for (std::size_t i = 0; i < cells; ++i) {
        if (count[i] == 0) continue;
        const double g = sum[i] / count[i];
        h.amplitude.push_back(std::sqrt(g));
        h.weight.push_back(count[i] / total);
        h.mean += count[i] / total * g;
        h.square += count[i] / total * g * g;
    }
    return h;
}

power_prediction::estimate power_prediction::posterior(const histogram& h, double sigma) {
    estimate e;
    const double last = h.amplitude.back() + 5 * sigma;
    e.step = std::max(sigma / 4, last / 8192);
    const double variance = sigma * sigma;
    double square = 0, mass = 0;
    for (double r = 0; r <= last; r += e.step) {
        double density = 0, mean = 0;
        for (std::size_t i = 0; i < h.amplitude.size(); ++i) {
            const double a = h.amplitude[i];
            if (std::abs(r - a) > 6 * sigma) continue;
            const double p = h.weight[i] * std::exp(-(r - a) * (r - a) / variance) *
                             scaled_bessel_i0(2 * r * a / variance);
            density += p;
            mean += p * a * a;
        }
        // Where the distribution has no samples nearby, the last value is kept.
        const double f = density > 0              ? mean / density
                         : e.of_amplitude.empty() ? 0
                                                  : static_cast<double>(e.of_amplitude.back());
        e.of_amplitude.push_back(static_cast<float>(f));
        square += density * r * f * f;
        mass += density * r;
    }
    e.nmse = 1 - square / mass / h.square;
    return e;
}

double power_prediction::largest_nmse(const trace_channel& trace) {
    const histogram h = histogram_of(trace);
    return 1 - h.mean * h.mean / h.square;
}

power_prediction::power_prediction(trace_channel& trace, double nmse, std::uint64_t seed)
    : trace_(&trace),
      error_(error_profile(),
             sample_model::motion({.path = sample_model::constant_speed{error_doppler_hz}}, rate),
             {rate, seed, 0x504F57}) {
    if (nmse == 0) return;
    const histogram h = histogram_of(trace);
    const double largest = 1 - h.mean * h.mean / h.square;
    if (!(nmse >= least_nmse && nmse <= largest))
        throw std::invalid_argument("prediction NMSE is " + text_of(nmse) +
                                    "; valid for this trace: 0, or 0.0001.." +
                                    std::to_string(std::max(least_nmse, largest)));
    double low = 1e-4, high = 100;  // sigma in units of sqrt(E g)
    const double unit = std::sqrt(h.mean);
    for (int i = 0; i < 25; ++i) {
        const double middle = std::sqrt(low * high);
        (posterior(h, middle * unit).nmse > nmse ? high : low) = middle;
    }
    const double sigma = std::sqrt(low * high) * unit;
    estimate e = posterior(h, sigma);
    table_ = std::move(e.of_amplitude);
    per_step_ = static_cast<float>(1 / e.step);
    sigma_ = static_cast<float>(sigma);
    const auto profile = error_profile();
    for (const auto& t : profile.taps)
        for (int b = 0; b < nof_bins; ++b)
            phasors_.push_back(cf32(std::polar(
                1.0, -2 * std::numbers::pi * t.delay_s *
                         subcarrier_hz(b * subcarriers_per_bin + subcarriers_per_bin / 2))));
}

void power_prediction::predicted_snr(slot s, std::span<float, nof_bins> linear) noexcept {
    trace_->snr(s, linear);
    if (table_.empty()) return;
    alignas(64) float re[sample_model::max_profile_taps], im[sample_model::max_profile_taps];
    error_.at(first_sample(s).value, re, im);
    for (std::size_t b = 0; b < nof_bins; ++b) {
        cf32 w;
        for (std::size_t p = 0; p < error_.size(); ++p)
            w += cf32(re[p], im[p]) * phasors_[p * nof_bins + b];
        const float r = std::abs(std::sqrt(linear[b]) + sigma_ * w) * per_step_;
        const float last = static_cast<float>(table_.size() - 1);
        const float at = std::min(r, last * 0.999999f);
        const auto i = static_cast<std::size_t>(at);
        const float x = at - static_cast<float>(i);
        linear[b] = (1 - x) * table_[i] + x * table_[i + 1];
    }
}

}  // namespace wip::bin_model
