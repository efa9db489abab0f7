// SPDX-License-Identifier: GPL-3.0-or-later
#include "sample/trace_response.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <numbers>

namespace wip::sample_model {
namespace {

constexpr std::size_t coefficients = trace_response::nof_coefficients;
constexpr std::size_t nof_probes = 5 * nof_bins;
// Points outside of the band, from the highest bin around the Nyquist frequency to the lowest, as
// far apart as bins.
constexpr std::size_t nof_outside = 13;
constexpr float most_correction_db = 3;

// The frequency of occupied subcarrier n, in subcarriers from the carrier.
int frequency(int n) {
    const int k = fft_index(n);
    return k < fft_size / 2 ? k : k - fft_size;
}

double middle(int bin) {
    const int first = bin * subcarriers_per_bin;
    return (frequency(first) + frequency(first + subcarriers_per_bin - 1)) / 2.0;
}

struct node {
    double at;                              // subcarriers
    std::array<double, nof_bins> weight{};  // [bin], weight of the bin's gain (dB) at this node
};

// The nodes of the cubic interpolation over all frequencies, periodic: the last is followed by the
// first.
std::vector<node> make_nodes() {
    std::vector<node> nodes;
    for (int b = 0; b < nof_bins; ++b) {
        nodes.push_back({middle(b)});
        nodes.back().weight[static_cast<std::size_t>(b)] = 1;
    }
    const double last = nodes.back().at, gap = nodes.front().at + fft_size - last;
    for (std::size_t i = 1; i <= nof_outside; ++i) {
        const double part = static_cast<double>(i) / (nof_outside + 1);
        const double weight_of_first = (1 - std::cos(std::numbers::pi * part)) / 2;
        nodes.push_back({last + part * gap});
        nodes.back().weight.front() = weight_of_first;
        nodes.back().weight.back() = 1 - weight_of_first;
    }
    return nodes;
}

// The weights of the bins' gains in the log amplitude at k subcarriers from the carrier.
std::array<double, nof_bins> interpolate(const std::vector<node>& nodes, double k) {
    const std::size_t n = nodes.size();
    const auto at = [&](std::size_t i) {
        return nodes[i % n].at + static_cast<double>(i / n) * fft_size;
    };
    std::size_t j = n;  // one period ahead, so that node j - 1 exists
    while (at(j + 1) <= k + fft_size) ++j;
    const double h = at(j + 1) - at(j), t = (k + fft_size - at(j)) / h;
    std::array<double, nof_bins> weights{};
    for (std::size_t b = 0; b < weights.size(); ++b) {
        const auto value = [&](std::size_t i) { return nodes[i % n].weight[b]; };
        const auto slope = [&](std::size_t i) {
            return (value(i + 1) - value(i - 1)) / (at(i + 1) - at(i - 1));
        };
        weights[b] = (2 * t * t * t - 3 * t * t + 1) * value(j) +
                     (t * t * t - 2 * t * t + t) * h * slope(j) +
                     (3 * t * t - 2 * t * t * t) * value(j + 1) +
                     (t * t * t - t * t) * h * slope(j + 1);
    }
    return weights;
}

}  // namespace

trace_response::trace_response()
    : cepstrum_re_(nof_bins * coefficients),
      cepstrum_im_(cepstrum_re_.size()),
      phasor_re_(coefficients * nof_probes),
      phasor_im_(phasor_re_.size()) {
    static_assert(probes_per_bin * nof_bins == nof_probes);
    const std::vector<node> nodes = make_nodes();
    std::vector<std::complex<double>> sum(nof_bins * coefficients);
    const auto turn = [](double cycles) {
        return std::polar(1.0, 2 * std::numbers::pi * cycles / fft_size);
    };
    const int lowest = static_cast<int>(std::ceil(nodes.front().at));
    for (int k = lowest; k < lowest + fft_size; ++k) {
        const auto weights = interpolate(nodes, k);
        for (std::size_t n = 0; n < coefficients; ++n) {
            const auto factor = turn(static_cast<double>(k) * static_cast<double>(n));
            for (std::size_t b = 0; b < nof_bins; ++b)
                sum[b * coefficients + n] += weights[b] * factor;
        }
    }
    // The cepstrum at negative times is folded onto positive ones, which makes the phase minimum.
    for (std::size_t i = 0; i < sum.size(); ++i) {
        const double folded = i % coefficients == 0 ? 1 : 2;
        const auto c = sum[i] * (folded * std::numbers::ln10 / 20 / fft_size);
        cepstrum_re_[i] = static_cast<float>(c.real());
        cepstrum_im_[i] = static_cast<float>(c.imag());
    }
    for (std::size_t n = 0; n < coefficients; ++n)
        for (std::size_t p = 0; p < nof_probes; ++p) {
            const int factor = static_cast<int>(p) * subcarriers_per_bin / probes_per_bin;
            const auto t =
                turn(-static_cast<double>(frequency(factor + 1)) * static_cast<double>(n));
            phasor_re_[n * nof_probes + p] = static_cast<float>(t.real());
            phasor_im_[n * nof_probes + p] = static_cast<float>(t.imag());
        }
}

void trace_response::series(const bin_gains_db& gains, float* re, float* im) const noexcept {
    std::array<float, coefficients> c_re{}, c_im{};
    for (std::size_t b = 0; b < gains.size(); ++b)
        for (std::size_t n = 0; n < coefficients; ++n) {
            c_re[n] += gains[b] * cepstrum_re_[b * coefficients + n];
            c_im[n] += gains[b] * cepstrum_im_[b * coefficients + n];
        }
    for (std::size_t k = 1; k < coefficients; ++k) {
        c_re[k] *= static_cast<float>(k);
        c_im[k] *= static_cast<float>(k);
    }
    // Every h[m] is added to the sums of all later coefficients: a loop for vectors, unlike the sum
    // for one coefficient.
    std::array<float, coefficients> sum_re{}, sum_im{};
    for (std::size_t m = 0; m < coefficients; ++m) {
        if (m == 0) {
            re[0] = std::exp(c_re[0]), im[0] = 0;
        } else {
            re[m] = sum_re[m] / static_cast<float>(m);
            im[m] = sum_im[m] / static_cast<float>(m);
        }
        for (std::size_t k = 1; m + k < coefficients; ++k) {
            sum_re[m + k] += c_re[k] * re[m] - c_im[k] * im[m];
            sum_im[m + k] += c_re[k] * im[m] + c_im[k] * re[m];
        }
    }
}

bin_gains_db trace_response::gains_of(const float* re, const float* im) const noexcept {
    std::array<float, nof_probes> h_re{}, h_im{};
    for (std::size_t n = 0; n < coefficients; ++n) {
        const float *t_re = phasor_re_.data() + n * nof_probes,
                    *t_im = phasor_im_.data() + n * nof_probes;
        for (std::size_t p = 0; p < nof_probes; ++p) {
            h_re[p] += re[n] * t_re[p] - im[n] * t_im[p];
            h_im[p] += re[n] * t_im[p] + im[n] * t_re[p];
        }
    }
    bin_gains_db gains;
    for (std::size_t b = 0; b < gains.size(); ++b) {
        float power = 1e-20f;
        for (std::size_t p = b * probes_per_bin; p < (b + 1) * probes_per_bin; ++p)
            power += (h_re[p] * h_re[p] + h_im[p] * h_im[p]) / probes_per_bin;
        gains[b] = 10 * std::log10(power);
    }
    return gains;
}

void trace_response::design(const bin_gains_db& gains, float* re, float* im) const noexcept {
    series(gains, re, im);
    const bin_gains_db found = gains_of(re, im);
    bin_gains_db corrected;
    for (std::size_t b = 0; b < gains.size(); ++b)
        corrected[b] =
            gains[b] - std::clamp(found[b] - gains[b], -most_correction_db, most_correction_db);
    series(corrected, re, im);
}

}  // namespace wip::sample_model
