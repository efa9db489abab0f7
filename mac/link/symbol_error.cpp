// SPDX-License-Identifier: GPL-3.0-or-later
#include "link/symbol_error.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <stdexcept>
#include <string>

#include "link/decision_region.h"
#include "types/grid.h"
#include "types/not_valid.h"

namespace wip {

std::vector<std::complex<double>> constellation_points(int k, eight_points eight) {
    std::vector<std::complex<double>> p;
    // Odd integer coordinates up to `top`, without the corners beyond `inner` in both.
    const auto grid = [&p](int top, int inner) {
        for (int x = -top; x <= top; x += 2)
            for (int y = -top; y <= top; y += 2)
                if (std::abs(x) <= inner || std::abs(y) <= inner) p.emplace_back(x, y);
    };
    switch (k) {
        case 1:
            p = {{1, 0}, {-1, 0}};
            break;
        case 2:
            grid(1, 1);
            break;
        case 3: {
            if (eight == eight_points::rectangle) {
                for (const int x : {-3, -1, 1, 3})
                    for (const int y : {-1, 1}) p.emplace_back(x, y);
                break;
            }
            const double r = axis_radius(eight);
            p = {{1, 1}, {1, -1}, {-1, 1}, {-1, -1}, {r, 0}, {-r, 0}, {0, r}, {0, -r}};
            break;
        }
        case 4:
            grid(3, 3);
            break;
        case 5:
            grid(5, 3);
            break;
        case 6:
            grid(7, 7);
            break;
        case 7:
            grid(11, 7);
            break;
        case 8:
            grid(15, 15);
            break;
        default:
            throw std::invalid_argument(not_valid("bits_per_symbol", std::to_string(k), "1..8"));
    }
    double energy = 0;
    for (const auto& z : p) energy += std::norm(z);
    const double scale = 1 / std::sqrt(energy / static_cast<double>(p.size()));
    for (auto& z : p) z *= scale;
    return p;
}

symbol_error::symbol_error(int bits_per_symbol, eight_points eight) {
    constexpr int angles = 1440;
    const auto points = constellation_points(bits_per_symbol, eight);
    std::vector<radius> all;
    for (std::size_t n = 0; n < points.size(); ++n) {
        const auto z = points[n];
        // All sets are symmetric to both axes: the points of one closed quadrant, each counted as
        // often as it has mirror images.
        if (z.real() < -1e-9 || z.imag() < -1e-9) continue;
        const int images = (z.real() > 1e-9 ? 2 : 1) * (z.imag() > 1e-9 ? 2 : 1);
        const auto bounding = bounding_points(points, n);
        for (int i = 0; i < angles; ++i) {
            const double t = 2 * std::numbers::pi * (i + 0.5) / angles;
            const std::complex<double> u(std::cos(t), std::sin(t));
            double least = std::numeric_limits<double>::infinity();
            for (const std::size_t q : bounding) {
                const std::complex<double> d = points[q] - z;
                const double along = d.real() * u.real() + d.imag() * u.imag();
                if (along > 1e-12) least = std::min(least, std::norm(d) / (2 * along));
            }
            all.push_back({least * least, static_cast<double>(images)});
        }
    }
    // Points of the same surroundings have the same radii: merged, a tenth remains.
    std::ranges::sort(all, {}, &radius::squared);
    const double directions = angles * static_cast<double>(points.size());
    for (const radius& r : all) {
        if (radii_.empty() || r.squared > radii_.back().squared * (1 + 1e-9))
            radii_.push_back({r.squared, 0});
        radii_.back().weight += r.weight / directions;
    }
}

double symbol_error::rate(double snr) const {
    double sum = 0;
    for (const radius& r : radii_) {
        if (r.squared * snr > 700) break;
        sum += r.weight * std::exp(-r.squared * snr);
    }
    return sum;
}

double symbol_error::frame_ok(double snr) const {
    return std::exp(payload_symbols_per_bin * std::log1p(-std::min(rate(snr), 1.0)));
}

}  // namespace wip
