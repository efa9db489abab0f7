// SPDX-License-Identifier: GPL-3.0-or-later
#include "bin/failed_symbol.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "link/symbol_error.h"
#include "types/grid.h"

namespace wip::bin_model {
namespace {

constexpr double lowest_db = -40, highest_db = 60, per_db = 20;
constexpr double least_log_rate = -300;  // beyond it nothing fails

}  // namespace

failed_symbol::failed_symbol(int bits_per_symbol, std::span<const std::complex<float>> points,
                             eight_points eight)
    : points_(points.begin(), points.end()) {
    const symbol_error exact(bits_per_symbol, eight);
    for (double db = lowest_db; db <= highest_db; db += 1 / per_db) {
        const double rate = exact.rate(std::pow(10, db / 10));
        log_rate_.push_back(rate > 0 ? std::max(std::log(rate), least_log_rate) : least_log_rate);
    }
    double least = std::numeric_limits<double>::infinity();
    for (const auto& a : points_)
        for (const auto& b : points_)
            if (&a != &b) least = std::min(least, std::norm(a - b));
    nearest_squared_ = least / 4;
}

double failed_symbol::rate(double snr) const noexcept {
    const double x = (10 * std::log10(snr) - lowest_db) * per_db;
    const double last = static_cast<double>(log_rate_.size() - 1);
    if (!(x > 0)) return std::exp(log_rate_.front());
    if (x >= last) return std::exp(log_rate_.back());
    const auto i = static_cast<std::size_t>(x);
    return std::exp(log_rate_[i] +
                    (x - static_cast<double>(i)) * (log_rate_[i + 1] - log_rate_[i]));
}

double failed_symbol::frame_ok(double snr) const noexcept {
    return std::exp(payload_symbols_per_bin * std::log1p(-rate(snr)));
}

std::size_t failed_symbol::first_wrong(double snr, double uniform) const noexcept {
    const double log_right = std::log1p(-rate(snr));
    const double fails = -std::expm1(payload_symbols_per_bin * log_right);
    const double i = std::floor(std::log1p(-uniform * fails) / log_right);
    return static_cast<std::size_t>(std::clamp(i, 0.0, payload_symbols_per_bin - 1.0));
}

double failed_symbol::border_squared(std::uint8_t label, double turn) const noexcept {
    const double angle = 2 * std::numbers::pi * turn;
    const double c = std::cos(angle), s = std::sin(angle);
    const auto z = points_[label];
    // R = min |d|^2 / (2 d.u); its inverse is compared, so that one division remains.
    double nearest = 0;
    for (const auto& q : points_) {
        const double x = q.real() - z.real(), y = q.imag() - z.imag();
        const double along = x * c + y * s;
        if (along > 1e-12) nearest = std::max(nearest, along / (x * x + y * y));
    }
    if (nearest <= 0) return std::numeric_limits<double>::infinity();
    return 1 / (4 * nearest * nearest);
}

}  // namespace wip::bin_model
