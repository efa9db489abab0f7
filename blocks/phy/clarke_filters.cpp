// SPDX-License-Identifier: GPL-3.0-or-later
#include "phy/clarke_filters.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <stdexcept>
#include <vector>

namespace wip::phy {

void clarke_correlation(double cycles_per_slot, double* out, int n) noexcept {
    for (int k = 0; k < n; ++k)
        out[k] = std::cyl_bessel_j(0.0, 2 * std::numbers::pi * cycles_per_slot * k);
}

void solve_toeplitz(const double* t, const double* b, double* x, int n) noexcept {
    std::array<double, 64>
        a{};  // predictor of the order reached: sum_k a_k t_|i-k| = t_0 power e_0
    std::array<double, 64> old{};
    a[0] = 1;
    double power = t[0];
    x[0] = b[0] / power;
    for (int m = 1; m < n; ++m) {
        double k = 0;
        for (int i = 0; i < m; ++i) k += a[static_cast<std::size_t>(i)] * t[m - i];
        k /= -power;
        old = a;
        for (int i = 1; i <= m; ++i)
            a[static_cast<std::size_t>(i)] =
                old[static_cast<std::size_t>(i)] + k * old[static_cast<std::size_t>(m - i)];
        power *= 1 - k * k;
        double q = b[m];
        for (int i = 0; i < m; ++i) q -= x[i] * t[m - i];
        q /= power;
        x[m] = 0;
        for (int i = 0; i <= m; ++i) x[i] += q * a[static_cast<std::size_t>(m - i)];
    }
}

int clarke_filters::snr_class(float snr) noexcept {
    if (!(snr > 0)) return 0;
    const double db = 10 * std::log10(static_cast<double>(snr));
    return std::clamp(static_cast<int>(std::lround((db - least_snr_db) / snr_step_db)), 0,
                      nof_snrs - 1);
}

clarke_filters::clarke_filters(int horizon, int order) : padded_((order + 15) / 16 * 16) {
    if (horizon < 1 || horizon > 64 || order < 1 || order > 64)
        throw std::invalid_argument("clarke_filters: horizon and order are 1..64");
    weights_.assign(static_cast<std::size_t>(nof_dopplers * nof_snrs * padded_), 0.F);
    std::vector<double> r(static_cast<std::size_t>(horizon + order));
    std::vector<double> t(static_cast<std::size_t>(order)), x(t);
    for (int d = 0; d < nof_dopplers; ++d) {
        clarke_correlation(doppler_at(d), r.data(), horizon + order);
        for (int s = 0; s < nof_snrs; ++s) {
            std::copy_n(r.begin(), order, t.begin());
            t[0] += std::pow(10, -(least_snr_db + snr_step_db * s) / 10);
            solve_toeplitz(t.data(), r.data() + horizon, x.data(), order);
            auto* to = weights_.data() + (d * nof_snrs + s) * padded_;
            for (int i = 0; i < order; ++i)
                to[i] = static_cast<float>(x[static_cast<std::size_t>(i)]);
        }
    }
}

}  // namespace wip::phy
