// SPDX-License-Identifier: GPL-3.0-or-later
#include "phy/estimation/decision_feedback.h"

#include "phy/estimation/sent_image.h"
#include "phy/grid/resource_map.h"
#include "types/lanes.h"

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

constexpr float square_term(float t) { return t * t - mean_t2; }

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

// Residual and its moments. Whole vectors, so that the moments stay in registers; beyond the band
// all planes are zero. Whole: with interference and curvature.
template <bool Whole>
void decision_feedback::compare(const grid& y) noexcept {
    for (int n = 0; n < plane_size; n += nof_lanes) {
        const lanes ar = at(h_[0].re, n), ai = at(h_[0].im, n);
        const lanes br = at(h_[1].re, n), bi = at(h_[1].im, n);
        const lanes cr = at(h_[2].re, n), ci = at(h_[2].im, n);
        lanes m0r{}, m0i{}, m1r{}, m1i{}, m2r{}, m2i{};
        for (std::size_t l = 0; l < symbols_per_slot; ++l) {
            const float t = symbol_time(static_cast<int>(l));
            const lanes xr = at(x_[l].re, n), xi = at(x_[l].im, n);
            lanes hr = ar + t * br, hi = ai + t * bi;
            if constexpr (Whole) {
                hr += square_term(t) * cr;
                hi += square_term(t) * ci;
            }
            lanes rr = at(y[l].re, n) - hr * xr + hi * xi;
            lanes ri = at(y[l].im, n) - hr * xi - hi * xr;
            if constexpr (Whole) {
                rr -= at(interference_[l].re, n);
                ri -= at(interference_[l].im, n);
            }
            put(r_[l].re, n, rr);
            put(r_[l].im, n, ri);
            const lanes gr = rr * xr + ri * xi, gi = ri * xr - rr * xi;
            m0r += gr;
            m0i += gi;
            m1r += t * gr;
            m1i += t * gi;
            if constexpr (Whole) {
                m2r += square_term(t) * gr;
                m2i += square_term(t) * gi;
            }
        }
        put(moment_[0].re, n, m0r);
        put(moment_[0].im, n, m0i);
        put(moment_[1].re, n, m1r);
        put(moment_[1].im, n, m1i);
        put(moment_[2].re, n, m2r);
        put(moment_[2].im, n, m2i);
    }
}

void decision_feedback::work(const grid& y, const channel_estimate& first,
                             const known_symbols& known, float noise,
                             bool cancel_interference) noexcept {
    h_[0] = first.middle;
    h_[1] = first.slope;
    h_[2] = {};
    if (cancel_interference) return again(y, known, noise);
    set_known(known);
    compare<false>(y);
    refine<terms - 1>(known, noise);
}

void decision_feedback::again(const grid& y, const known_symbols& known, float noise) noexcept {
    set_known(known);
    between_.work(h_[1], h_[2], x_, interference_);
    compare<true>(y);
    refine<terms>(known, noise);
}

// Where the interference drowns in the noise, the curvature does too: two terms.
template <std::size_t Used>
void decision_feedback::refine(const known_symbols& known, float noise) noexcept {
    const auto& basis = *known.basis;
    constexpr int apart = delay_basis::max_order;
    std::array<float, Used * apart> re, im;
    delay_basis::to<Used> moments;
    delay_basis::from<Used> residuals;
    for (std::size_t i = 0; i < Used; ++i) residuals[i] = moments[i] = &moment_[i];
    basis.project<Used>(residuals, re.data(), im.data(), apart);
    for (std::size_t i = 0; i < Used; ++i) {
        const float floor = noise / (energy[i] * nof_subcarriers);
        for (int d = 0; d < basis.order(); ++d) {
            const auto at = i * apart + static_cast<std::size_t>(d);
            const float q = known.signal * prior[i] * static_cast<float>(basis.variance(d));
            const float gain = q / ((q + floor) * energy[i]);
            re[at] *= gain;
            im[at] *= gain;
        }
    }
    basis.expand<Used>(re.data(), im.data(), apart, moments);
    for (std::size_t i = 0; i < Used; ++i)
        for (int n = 0; n < nof_subcarriers; ++n) {
            h_[i].re[n] += moment_[i].re[n];
            h_[i].im[n] += moment_[i].im[n];
        }
    if (Used < terms) moment_[2] = {};
}

// A bin begins at a multiple of four subcarriers and lies within so many aligned vectors; what
// comes along of the neighbours does no harm.
void decision_feedback::equalise(bin_index bin, grid& out, grid& power) const noexcept {
    const auto& [a, b, c] = h_;
    const auto& [da, db, dc] = moment_;
    constexpr int vectors = (subcarriers_per_bin + nof_lanes - 4 + nof_lanes - 1) / nof_lanes;
    const int first = static_cast<int>(bin.n()) * subcarriers_per_bin / nof_lanes * nof_lanes;
    for (int n = first; n < first + vectors * nof_lanes; n += nof_lanes) {
        const lanes ar = at(a.re, n), ai = at(a.im, n), br = at(b.re, n), bi = at(b.im, n);
        const lanes cr = at(c.re, n), ci = at(c.im, n);
        const lanes dar = at(da.re, n), dai = at(da.im, n), dbr = at(db.re, n);
        const lanes dbi = at(db.im, n), dcr = at(dc.re, n), dci = at(dc.im, n);
        for (std::size_t l = 0; l < symbols_per_slot; ++l) {
            const float t = symbol_time(static_cast<int>(l));
            const float t2 = square_term(t);
            const lanes xr = at(x_[l].re, n), xi = at(x_[l].im, n);
            const lanes hr = ar + t * br + t2 * cr, hi = ai + t * bi + t2 * ci;
            const lanes dr = dar + t * dbr + t2 * dcr, di = dai + t * dbi + t2 * dci;
            const lanes rr = at(r_[l].re, n) - dr * xr + di * xi;
            const lanes ri = at(r_[l].im, n) - dr * xi - di * xr;
            const lanes p = hr * hr + hi * hi + 1e-30F;
            const lanes inverse = 1 / p;
            put(out[l].re, n, xr + (rr * hr + ri * hi) * inverse);
            put(out[l].im, n, xi + (ri * hr - rr * hi) * inverse);
            put(power[l].re, n, p);
        }
    }
}

// The ramp over the window has the mean square (768 / 853)^2 / 12 of a symbol's time squared.
float intercarrier_power(const channel_estimate& channel) noexcept {
    float sum = 0;
    for (int n = 0; n < nof_subcarriers; ++n)
        sum +=
            channel.slope.re[n] * channel.slope.re[n] + channel.slope.im[n] * channel.slope.im[n];
    constexpr float window = fft_size * symbols_per_slot / static_cast<float>(slot_samples);
    return sum / nof_subcarriers * window * window / 12;
}

}  // namespace wip::phy
