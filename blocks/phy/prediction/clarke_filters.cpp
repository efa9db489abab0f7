// SPDX-License-Identifier: GPL-3.0-or-later
#include "phy/prediction/clarke_filters.h"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

#include "types/require.h"

namespace wip::phy {

namespace {
constexpr float unfiltered_snr = 0.1F;  // below it a component is not filtered
}

void clarke_correlation(double cycles_per_slot, double* out, int n, double first) noexcept {
    for (int k = 0; k < n; ++k)
        out[k] =
            std::cyl_bessel_j(0.0, 2 * std::numbers::pi * cycles_per_slot * std::abs(first + k));
}

void solve_toeplitz(const double* t, const double* b, double* x, int n) {
    const Eigen::Map<const Eigen::VectorXd> column(t, n);
    Eigen::MatrixXd m(n, n);
    for (int i = 0; i < n; ++i)
        m.col(i).tail(n - i) = column.head(n - i);              // LLT reads the lower triangle only
    const Eigen::LLT<Eigen::Ref<Eigen::MatrixXd>> in_place(m);  // without a copy
    Eigen::Map<Eigen::VectorXd>(x, n) = in_place.solve(Eigen::Map<const Eigen::VectorXd>(b, n));
}

snr_class clarke_filters::class_of(float snr) noexcept {
    const snr_place place = place_of(snr);
    return snr_class{static_cast<int>(place.below) + (place.above >= 0.5F ? 1 : 0)};
}

snr_place clarke_filters::place_of(float snr) noexcept {
    if (!(snr > 0)) return {};
    const db above = db::from_power(static_cast<double>(snr)) - least_snr;
    const double steps = std::clamp(above.value / snr_step.value, 0.0, nof_snrs - 1.0);
    const int below = static_cast<int>(steps);
    return {snr_class{below}, static_cast<float>(steps - below),
            std::clamp(snr / unfiltered_snr - 1, 0.F, 1.F)};
}

clarke_filters::clarke_filters(double ahead, int order, double aperture)
    : ahead_(ahead), padded_((order + 15) / 16 * 16) {
    check_range("clarke_filters: ahead", ahead, -1, 64);
    check_range("clarke_filters: order", order, 1, 64);
    weights_.assign(static_cast<std::size_t>(nof_dopplers * nof_snrs * padded_), 0.F);
    const auto n = static_cast<std::size_t>(order);
    std::vector<double> among(n), towards(n), t(n), x(n), part(n);
    // A value is an average over the aperture (slots). `out` is the correlation from `first` on,
    // averaged over both ends of the aperture as seen from its middle.
    const auto average = [&](doppler_index d, double first, double width,
                             std::vector<double>& out) {
        clarke_correlation(doppler_at(d), out.data(), order, first + width);
        if (width == 0) return;
        clarke_correlation(doppler_at(d), part.data(), order, first - width);
        for (std::size_t i = 0; i < n; ++i) out[i] = (out[i] + part[i]) / 2;
    };
    for (int step = 0; step < nof_dopplers; ++step) {
        const doppler_index d{step};
        average(d, 0, 2 * aperture, among);
        if (aperture > 0) {  // adds the pairs at the same end of both apertures
            clarke_correlation(doppler_at(d), part.data(), order);
            for (std::size_t i = 0; i < n; ++i) among[i] = (among[i] + part[i]) / 2;
        }
        average(d, ahead, aperture, towards);
        for (int s = 0; s < nof_snrs; ++s) {
            t = among;
            t[0] += (-db(least_snr.value + snr_step.value * s)).power();
            solve_toeplitz(t.data(), towards.data(), x.data(), order);
            auto* to = weights_.data() + at(d, snr_class{s}) * padded_;
            double known = 0;
            for (std::size_t i = 0; i < n; ++i) {
                to[i] = static_cast<float>(x[i]);
                known += x[i] * towards[i];
            }
            errors_[static_cast<std::size_t>(at(d, snr_class{s}))] =
                static_cast<float>(std::max(0.0, 1 - known));
        }
    }
}

}  // namespace wip::phy
