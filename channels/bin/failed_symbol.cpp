// SPDX-License-Identifier: GPL-3.0-or-later
#include "bin/failed_symbol.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "link/decision_region.h"
#include "link/frame_success.h"
#include "phy/qam/constellation.h"
#include "sample/fast_math.h"
#include "types/grid.h"

namespace wip::bin_model {
namespace {

constexpr double per_db = symbol_errors_per_db;

double ok_from_rate(double rate) noexcept {
    return std::exp(payload_symbols_per_bin * std::log1p(-rate));
}

}  // namespace

failed_symbol::failed_symbol(int bits_per_symbol, std::span<const std::complex<float>> points,
                             eight_points eight)
    : log_rate_(log_symbol_errors(bits_per_symbol, eight)) {
    for (const double log_rate : log_rate_) ok_.push_back(ok_from_rate(std::exp(log_rate)));
    const std::vector<std::complex<double>> all(points.begin(), points.end());
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t label = 0; label < all.size(); ++label) {
        first_.push_back(neighbours_.size());
        for (const std::size_t q : bounding_points(all, label)) {
            const double x = all[q].real() - all[label].real(),
                         y = all[q].imag() - all[label].imag();
            neighbours_.push_back({x, y, x * x + y * y});
            least = std::min(least, std::norm(all[label] - all[q]));
        }
    }
    first_.push_back(neighbours_.size());
    least_distance_squared_ = least / 4;
}

failure_tables::failure_tables(eight_points eight) {
    for (int k = 1; k <= max_bits_per_symbol; ++k)
        by_bits_.emplace_back(k, phy::constellation(k, eight).points(), eight);
}

double failed_symbol::rate(double snr) const noexcept {
    const double x = (db::from_power(snr) - symbol_error_lowest).value * per_db;
    const double last = static_cast<double>(log_rate_.size() - 1);
    if (!(x > 0)) return std::exp(log_rate_.front());
    if (x >= last) return std::exp(log_rate_.back());
    const auto i = static_cast<std::size_t>(x);
    return std::exp(log_rate_[i] +
                    (x - static_cast<double>(i)) * (log_rate_[i + 1] - log_rate_[i]));
}

double failed_symbol::frame_ok(double snr) const noexcept { return ok_from_rate(rate(snr)); }

bool failed_symbol::frame_right(float snr, double uniform) const noexcept {
    // frame_ok rises with the SNR, so within an interval it lies between its ends. The margins are
    // far larger than the rounding errors of both computations.
    constexpr float per_neper = static_cast<float>(per_db * 10 / std::numbers::ln10);
    constexpr double margin = 1e-9;
    const float x = per_neper * sample_model::fast_log(snr) -
                    static_cast<float>(symbol_error_lowest.value * per_db);
    if (x > 1 && x < static_cast<float>(ok_.size() - 2)) {
        const auto below = static_cast<std::size_t>(x - 0.01F),
                   above = static_cast<std::size_t>(x + 0.01F) + 1;
        if (uniform < ok_[below] - margin) return true;
        if (uniform > ok_[above] + margin) return false;
    }
    return uniform < frame_ok(static_cast<double>(snr));
}

std::size_t failed_symbol::first_wrong(double snr, double uniform) const noexcept {
    const double log_right = std::log1p(-rate(snr));
    const double fails = -std::expm1(payload_symbols_per_bin * log_right);
    const double i = std::floor(std::log1p(-uniform * fails) / log_right);
    return static_cast<std::size_t>(std::clamp(i, 0.0, payload_symbols_per_bin - 1.0));
}

double failed_symbol::boundary_distance_squared(std::uint8_t label, double turn) const noexcept {
    const double angle = 2 * std::numbers::pi * turn;
    const double c = std::cos(angle), s = std::sin(angle);
    // R = min |d|^2 / (2 d.u); its inverse is compared, so that one division remains.
    double nearest = 0;
    for (std::size_t i = first_[label]; i < first_[label + 1U]; ++i) {
        const neighbour& q = neighbours_[i];
        const double along = q.x * c + q.y * s;
        if (along > 1e-12) nearest = std::max(nearest, along / q.norm);
    }
    if (nearest <= 0) return std::numeric_limits<double>::infinity();
    return 1 / (4 * nearest * nearest);
}

}  // namespace wip::bin_model
