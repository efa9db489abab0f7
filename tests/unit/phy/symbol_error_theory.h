// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <algorithm>
#include <cmath>
#include <complex>
#include <numbers>
#include <vector>

#include "phy/qam/constellation.h"

namespace wip::phy::test {

// Exact symbol error rate in white Gaussian noise of variance n0, for any constellation: seen from
// a point, the border of its Voronoi cell lies at radius r(angle), and the noise leaves the cell
// with probability (1 / 2 pi) integral of exp(-r^2 / n0).
class exact_symbol_error_rate {
public:
    explicit exact_symbol_error_rate(const constellation& c) : points_(c.points().size()) {
        for (const auto p : c.points())
            for (int i = 0; i < angles; ++i) {
                const auto u = std::polar(1.0, 2 * std::numbers::pi * (i + 0.5) / angles);
                double r = 1e300;
                for (const auto q : c.points()) {
                    const auto d = std::complex<double>(q) - std::complex<double>(p);
                    const double along = d.real() * u.real() + d.imag() * u.imag();
                    if (along > 1e-9) r = std::min(r, std::norm(d) / (2 * along));
                }
                if (r < 1e299) radius2_.push_back(r * r);
            }
    }
    double operator()(double n0) const {
        double sum = 0;
        for (const double r2 : radius2_) sum += std::exp(-r2 / n0);
        return sum / angles / static_cast<double>(points_);
    }

private:
    static constexpr int angles = 720;
    std::size_t points_;
    std::vector<double> radius2_;
};

}  // namespace wip::phy::test
