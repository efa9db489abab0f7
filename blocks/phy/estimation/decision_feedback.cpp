// SPDX-License-Identifier: GPL-3.0-or-later
#include "phy/estimation/decision_feedback.h"

#include "phy/estimation/sent_image.h"
#include "phy/grid/resource_map.h"
#include "phy/math/lane_sum.h"
#include "types/multiply_add.h"

namespace wip::phy {

namespace {

constexpr float mean_t2 = 35.F / 12;
// Sums over the six symbols of 1, t^2, (t^2 - 35/12)^2.
constexpr std::array<float, 3> energy{6, 17.5F, 37.333333F};
// Prior variance of a, b, c for a channel of unit power: b as in channel_estimator; c that of
// Clarke's spectrum at 125 Hz, (3/32) (2 pi f T)^4, doubled.
constexpr std::array<float, 3> prior{1, 0.003F, 1.1e-5F};

lanes at(const float* p, int n) { return *reinterpret_cast<const lanes*>(p + n); }
void put(float* p, int n, lanes v) { *reinterpret_cast<lanes*>(p + n) = v; }

// The polynomials of a, b, c.
constexpr std::array<float, 3> terms_at(std::size_t symbol) {
    const float t = symbol_time(static_cast<int>(symbol));
    return {1, t, t * t - mean_t2};
}

}  // namespace

void decision_feedback::set_known(const known_symbols& known) noexcept {
    const auto put = [&](const auto& elements, const cf32* values) {
        for (int b = 0; b < nof_bins; ++b)
            for (const auto& e : elements) {
                auto& p = x_[static_cast<std::size_t>(e.symbol)];
                const int n = b * subcarriers_per_bin + e.subcarrier;
                p.re[n] = values->real();
                p.im[n] = values->imag();
                ++values;
            }
    };
    put(pilot_elements, known.pilots);
    put(control_elements, known.control);
    if (known.image != nullptr) add_image(x_, *known.image);
}

// Computes the moments of the residual over the slot. It works on whole vectors, so that the sums
// stay in registers; beyond the band all planes are zero.
template <std::size_t Used, bool Without>
void decision_feedback::compare(const grid& y) noexcept {
    for (int n = 0; n < plane_size; n += nof_lanes) {
        lanes re[Used]{}, im[Used]{};
        for (std::size_t l = 0; l < symbols_per_slot; ++l) {
            const lanes xr = at(x_[l].re, n), xi = at(x_[l].im, n);
            const auto [hr, hi] = channel < Without ? terms : terms - 1 > (l, n);
            lanes rr = multiply_add(hi, xi, multiply_add(-hr, xr, at(y[l].re, n)));
            lanes ri = multiply_add(-hi, xr, multiply_add(-hr, xi, at(y[l].im, n)));
            if constexpr (Without) {
                rr -= at(interference_[l].re, n);
                ri -= at(interference_[l].im, n);
            }
            for (std::size_t i = 0; i < Used; ++i) {
                re[i] = multiply_add(multiply_add(rr, xr, ri * xi), terms_at(l)[i], re[i]);
                im[i] = multiply_add(multiply_add(ri, xr, -rr * xi), terms_at(l)[i], im[i]);
            }
        }
        for (std::size_t i = 0; i < Used; ++i) {
            put(moment_[i].re, n, re[i]);
            put(moment_[i].im, n, im[i]);
        }
    }
}

// Works on whole vectors.
template <std::size_t Used>
std::array<lanes, 2> decision_feedback::channel(std::size_t l, int n) const noexcept {
    lanes re{}, im{};
    for (std::size_t i = 0; i < Used; ++i) {
        re = multiply_add(at(h_[i].re, n), terms_at(l)[i], re);
        im = multiply_add(at(h_[i].im, n), terms_at(l)[i], im);
    }
    return {re, im};
}

void decision_feedback::work(const grid& y, const channel_estimate& first,
                             const known_symbols& known, float noise, subtract interference,
                             const bin_set& looked_at) noexcept {
    h_[0] = first.middle;
    h_[1] = first.slope;
    h_[2] = {};
    interference_is_known_ = interference != subtract::nowhere;
    set_known(known);
    if (interference == subtract::everywhere) {
        between_.work(h_[1], h_[2], x_, interference_);
        compare<terms, true>(y);
        refine<terms>(known, noise);
    } else if (interference == subtract::looked_at) {
        compare<terms, false>(y);
        refine<terms>(known, noise);
        between_.work(h_[1], h_[2], x_, interference_, looked_at);
    } else {
        compare<terms - 1, false>(y);
        refine<terms - 1>(known, noise);
    }
}

void decision_feedback::again(const grid& y, const known_symbols& known, float noise,
                              const bin_set& looked_at) noexcept {
    set_known(known);
    compare<terms, true>(y);
    refine<terms>(known, noise);
    between_.work(h_[1], h_[2], x_, interference_, looked_at);
}

// If the interference is far below the noise, so is the curvature, and two terms suffice.
template <std::size_t Used>
void decision_feedback::refine(const known_symbols& known, float noise) noexcept {
    const auto& basis = *known.basis;
    constexpr int stride = delay_basis::max_order;
    std::array<float, Used * stride> re, im;
    delay_basis::to<Used> moments;
    delay_basis::from<Used> residuals;
    for (std::size_t i = 0; i < Used; ++i) residuals[i] = moments[i] = &moment_[i];
    basis.project<Used>(residuals, re.data(), im.data(), stride);
    for (std::size_t i = 0; i < Used; ++i) {
        const float floor = noise / (energy[i] * nof_subcarriers);
        for (int d = 0; d < basis.order(); ++d) {
            const auto at = i * stride + static_cast<std::size_t>(d);
            const float q = known.signal * prior[i] * static_cast<float>(basis.variance(d));
            const float gain = q / ((q + floor) * energy[i]);
            re[at] *= gain;
            im[at] *= gain;
        }
    }
    basis.expand<Used>(re.data(), im.data(), stride, moments);
    for (std::size_t i = 0; i < Used; ++i)
        for (int n = 0; n < nof_subcarriers; ++n) {
            h_[i].re[n] += moment_[i].re[n];
            h_[i].im[n] += moment_[i].im[n];
        }
}

// A bin begins at a multiple of four subcarriers and lies within so many aligned vectors;
// equalising some subcarriers of its neighbours as well does no harm.
void decision_feedback::equalise(const grid& y, bin_index bin, grid& out,
                                 grid& power) const noexcept {
    constexpr int vectors = (subcarriers_per_bin + nof_lanes - 4 + nof_lanes - 1) / nof_lanes;
    const int first = static_cast<int>(bin.n()) * subcarriers_per_bin / nof_lanes * nof_lanes;
    for (int n = first; n < first + vectors * nof_lanes; n += nof_lanes)
        for (std::size_t l = 0; l < symbols_per_slot; ++l) {
            const auto [hr, hi] = channel<terms>(l, n);
            lanes zr = at(y[l].re, n), zi = at(y[l].im, n);
            if (interference_is_known_) {
                zr -= at(interference_[l].re, n);
                zi -= at(interference_[l].im, n);
            }
            const lanes p = multiply_add(hr, hr, multiply_add(hi, hi, lanes{} + 1e-30F));
            const lanes inverse = 1 / p;
            put(out[l].re, n, multiply_add(zr, hr, zi * hi) * inverse);
            put(out[l].im, n, multiply_add(zi, hr, -zr * hi) * inverse);
            put(power[l].re, n, p);
        }
}

// Over the window of 768 samples t is a ramp, whose mean square is (768 / 853)^2 / 12 in units of a
// symbol's duration squared.
float intercarrier_power(const channel_estimate& channel) noexcept {
    const float sum = lane_sum(nof_subcarriers, [&](auto at) {
                          const auto re = at(channel.slope.re), im = at(channel.slope.im);
                          return lane_terms{re * re + im * im};
                      }).of[0];
    constexpr float window = fft_size * symbols_per_slot / static_cast<float>(slot_samples);
    return sum / nof_subcarriers * window * window / 12;
}

}  // namespace wip::phy
