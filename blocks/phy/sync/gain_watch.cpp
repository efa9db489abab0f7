// SPDX-License-Identifier: GPL-3.0-or-later
#include "phy/sync/gain_watch.h"

#include <algorithm>
#include <cmath>

#include "phy/grid/resource_map.h"

namespace wip::phy {

namespace {

constexpr double one_db_ratio = 1.26;               // a decibel
constexpr double least_level = 0.1;                 // share of the mean level
constexpr std::array observed_symbols{0, 1, 4, 5};  // symbols with known elements

double level_of(const plane& y, int symbol) {
    double sum = 0, count = 0;
    const auto add = [&](const resource_element& e) {
        if (e.symbol != symbol) return;
        for (int n = e.subcarrier; n < nof_subcarriers; n += subcarriers_per_bin) {
            sum += static_cast<double>(y.re[n] * y.re[n] + y.im[n] * y.im[n]);
            ++count;
        }
    };
    for (const auto& e : pilot_elements) add(e);
    for (const auto& e : control_elements) add(e);
    return sum / count;
}

}  // namespace

void gain_watch::expect(sample from, db step) noexcept {
    applied_ = false;
    watched_until_ = INT64_MIN;
    if (std::abs(step.value) < least_step.value || last_ == 0) return;
    half_step_ = step.amplitude();
    watched_until_ = from.value + std::int64_t{lasting} * slot_samples;
}

gain_watch::verdict gain_watch::look(const slot_planes& y, std::int64_t start) noexcept {
    if (watched_until_ != INT64_MIN && !active(start)) {
        watched_until_ = INT64_MIN;
        if (!applied_) return {.mixed = true, .changes = true};  // it cannot be that late
    }
    if (!active(start)) {
        last_ = level_of(y[5], 5);
        learn(last_);
        return {};
    }
    const double away = applied_ ? 1 / half_step_ : half_step_;
    const auto moves = [this](double from, double to, double by) {
        return std::max(from, to) > least_level * mean_ &&
               (by > 1 ? to > from * by : to < from * by);
    };
    verdict v;
    bool may_fall_here = false;  // into the symbol before this one
    for (const int symbol : observed_symbols) {
        const double level = level_of(y[static_cast<std::size_t>(symbol)], symbol);
        const double to = v.changes ? 1 / away : away;
        const bool one_db =
            last_ > 0 && moves(last_, level, to > 1 ? one_db_ratio : 1 / one_db_ratio);
        if (one_db && moves(last_, level, to)) {
            v.changes = !v.changes;
            v.mixed = true;
        } else if (one_db && !may_fall_here && !rescaled_) {
            may_fall_here = true;
            continue;
        }
        may_fall_here = rescaled_ = false;
        last_ = level;
    }
    v.mixed |= may_fall_here;
    if (v.changes) last_ /= away * away;
    rescaled_ = v.changes;
    learn(last_);
    return v;
}

void gain_watch::learn(double level) noexcept {
    if (!std::isfinite(level)) return;
    mean_ += (mean_ == 0 ? 1 : 1.0 / 32) * (level - mean_);
}

}  // namespace wip::phy
