// SPDX-License-Identifier: GPL-3.0-or-later
#include "bin/bin_response.h"

#include <cmath>
#include <numbers>
#include <utility>

#include "bin/discrete_gauss.h"

namespace wip::bin_model {
namespace {

constexpr double allowed_error = 1e-4;  // rms, relative to the mean power (bin_response.h)

std::complex<double> mean_phasor(std::span<const double> points, double hz_or_s) {
    std::complex<double> sum;
    for (const double x : points) sum += std::polar(1.0, 2 * std::numbers::pi * x * hz_or_s);
    return sum / static_cast<double>(points.size());
}

double error_of(const quadrature& q, std::span<const double> points, double hz_or_s) {
    std::complex<double> sum;
    for (std::size_t i = 0; i < q.nodes.size(); ++i)
        sum += std::polar(q.weights[i], 2 * std::numbers::pi * q.nodes[i] * hz_or_s);
    return std::abs(sum - mean_phasor(points, hz_or_s));
}

// The smallest quadrature whose rms error over the given (separation, weight) is small enough.
quadrature fitting(std::span<const double> points,
                   std::span<const std::pair<double, double>> separations) {
    for (int count = 1;; ++count) {
        quadrature q = discrete_gauss(points, count);
        double square = 0;
        for (const auto& [separation, weight] : separations) {
            const double e = error_of(q, points, separation);
            square += weight * e * e;
        }
        if (std::sqrt(square) < allowed_error || count == static_cast<int>(points.size())) return q;
    }
}

}  // namespace

bin_response::bin_response(const sample_model::delay_profile& profile, double doppler_hz)
    : taps_(profile.taps.size()) {
    check_profile(profile);
    // Variation in frequency: |H|^2 is a sum over pairs of taps, exp(j 2 pi f (tau_p - tau_q)),
    // with mean square P_p P_q.
    const std::vector<double> power = profile.powers();
    std::vector<std::pair<double, double>> separations;
    for (std::size_t p = 0; p < taps_; ++p)
        for (std::size_t q = 0; q < p; ++q)
            separations.emplace_back(profile.taps[p].delay_s - profile.taps[q].delay_s,
                                     2 * power[p] * power[q]);
    std::vector<double> points;
    for (int c = 0; c < subcarriers_per_bin; ++c) points.push_back(subcarrier_hz(c));
    frequencies_ = static_cast<int>(fitting(points, separations).nodes.size());

    // Variation in time: pairs of waves of equal power with Doppler shifts f cos a and f cos b.
    std::vector<double> times;
    for (int l = 0; l < symbols_per_slot; ++l) times.push_back(symbol_middle(l));
    separations.clear();
    constexpr int waves = 16;
    for (int a = 0; a < waves; ++a)
        for (int b = 0; b < waves; ++b)
            separations.emplace_back(doppler_hz / static_cast<double>(sample_rate_hz) *
                                         (std::cos(std::numbers::pi * (a + 0.5) / waves) -
                                          std::cos(std::numbers::pi * (b + 0.5) / waves)),
                                     1.0 / (waves * waves));
    const quadrature slot_times = fitting(times, separations);
    for (std::size_t i = 0; i < slot_times.nodes.size(); ++i)
        instants_.push_back({static_cast<int>(std::lround(slot_times.nodes[i])),
                             static_cast<float>(slot_times.weights[i])});

    const std::size_t size = static_cast<std::size_t>(frequencies_) * taps_ * row;
    re_.resize(size);
    im_.resize(size);
    weights_.resize(static_cast<std::size_t>(frequencies_) * row);
    // In the middle of bin 12 the DC subcarrier is missing; all other bins have the same shape at
    // another frequency.
    const auto points_of = [&](int bin) {
        for (int c = 0; c < subcarriers_per_bin; ++c)
            points[static_cast<std::size_t>(c)] = subcarrier_hz(bin * subcarriers_per_bin + c);
        return std::span<const double>(points);
    };
    const quadrature first = discrete_gauss(points_of(0), frequencies_),
                     middle = discrete_gauss(points_of(nof_bins / 2), frequencies_);
    for (int b = 0; b < nof_bins; ++b) {
        quadrature q = b == nof_bins / 2 ? middle : first;
        if (b != nof_bins / 2)
            for (double& node : q.nodes)
                node += subcarrier_hz(b * subcarriers_per_bin) - subcarrier_hz(0);
        for (std::size_t i = 0; i < q.nodes.size(); ++i) {
            weights_[i * row + static_cast<std::size_t>(b)] = static_cast<float>(q.weights[i]);
            for (std::size_t p = 0; p < taps_; ++p) {
                const std::complex<double> w =
                    std::polar(1.0, -2 * std::numbers::pi * q.nodes[i] * profile.taps[p].delay_s);
                const std::size_t at = (i * taps_ + p) * row + static_cast<std::size_t>(b);
                re_[at] = static_cast<float>(w.real());
                im_[at] = static_cast<float>(w.imag());
            }
        }
    }
}

void bin_response::add(const float* tap_re, const float* tap_im, float weight,
                       std::span<float, nof_bins> power, std::span<cf32> gain) const noexcept {
    alignas(64) float sum[row] = {}, mean_re[row] = {}, mean_im[row] = {};
    const float *re = re_.data(), *im = im_.data();
    for (int i = 0; i < frequencies_; ++i) {
        alignas(64) float h_re[row] = {}, h_im[row] = {};
        for (std::size_t p = 0; p < taps_; ++p, re += row, im += row) {
            const float a = tap_re[p], b = tap_im[p];
            for (int k = 0; k < row; ++k) {
                h_re[k] += a * re[k] - b * im[k];
                h_im[k] += a * im[k] + b * re[k];
            }
        }
        const float* w = weights_.data() + i * row;
        for (int k = 0; k < row; ++k) {
            sum[k] += w[k] * (h_re[k] * h_re[k] + h_im[k] * h_im[k]);
            mean_re[k] += w[k] * h_re[k];
            mean_im[k] += w[k] * h_im[k];
        }
    }
    for (std::size_t b = 0; b < nof_bins; ++b) power[b] += weight * sum[b];
    for (std::size_t b = 0; b < gain.size(); ++b) gain[b] += weight * cf32(mean_re[b], mean_im[b]);
}

}  // namespace wip::bin_model
