// SPDX-License-Identifier: GPL-3.0-or-later
#include "sample/large_scale.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "sample/counter_random.h"
#include "sample/floor_divide.h"

namespace wip::sample_model {
namespace {

constexpr double steps_per_d0 = 8;  // steps per d0

double gaussian(std::uint64_t counter, std::uint32_t key) {
    const random_pair p = philox(counter, key);
    const double u = (p.a + 0.5) * 0x1p-32, v = p.b * 0x1p-32;
    return std::sqrt(-2 * std::log(u)) * std::cos(2 * std::numbers::pi * v);
}

}  // namespace

shadowing::shadowing(const shadowing_config& c, const stage_context& context)
    : key_(derive_key(context.seed, 0x53480000u ^ context.purpose)) {
    check_range("shadowing deviation_db", c.deviation_db, 0, 20);
    check_range("shadowing correlation_length_m", c.correlation_m, 0.1, 1e4);
    check_range("shadowing pole", c.pole, 0.1, 0.99);
    pole_ = std::pow(c.pole, 1 / steps_per_d0);
    step_m_ = -c.correlation_m * std::log(pole_);
    scale_ = c.deviation_db * std::sqrt(1 - pole_ * pole_);
    offset_ = c.linear_mean ? -c.deviation_db * c.deviation_db * std::numbers::ln10 / 20 : 0;
    const auto terms = static_cast<std::size_t>(std::ceil(std::log(1e-4) / std::log(pole_)));
    random_.resize(terms + 1);
}

double shadowing::value(std::int64_t step) noexcept {
    const auto size = static_cast<std::int64_t>(random_.size());
    const auto ring_entry = [&](std::int64_t k) -> double& {
        return random_[static_cast<std::size_t>((k % size + size) % size)];
    };
    const bool follows = newest_ != INT64_MIN && step - 1 == newest_;
    for (std::int64_t k = follows ? step : step - size + 1; k <= step; ++k)
        ring_entry(k) = gaussian(static_cast<std::uint64_t>(k), key_);
    newest_ = step;
    // The sum begins with the oldest number: first the numbers after the newest one in the ring,
    // then those from its start.
    const auto first = random_.begin() + (&ring_entry(step) - random_.data()) + 1;
    double sum = 0;
    for (auto w = first; w != random_.end(); ++w) sum = sum * pole_ + *w;
    for (auto w = random_.begin(); w != first; ++w) sum = sum * pole_ + *w;
    return scale_ * sum;
}

db shadowing::gain(double metres) noexcept {
    const double steps = metres / step_m_;
    const std::int64_t step = static_cast<std::int64_t>(std::floor(steps));
    if (step != at_) {
        left_ = step - 1 == at_ && at_ != INT64_MIN ? right_ : value(step);
        right_ = value(step + 1);
        at_ = step;
    }
    const double x = steps - static_cast<double>(step), y = 1 - x;
    return db(offset_ + (y * left_ + x * right_) / std::sqrt(y * y + x * x + 2 * x * y * pole_));
}

large_scale::large_scale(const large_scale_config& config, const motion& movement,
                         const stage_context& context)
    : movement_(movement), attenuator_(config.attenuator), path_loss_(config.path_loss) {
    if (config.shadowing) shadowing_.emplace(*config.shadowing, context);
    if (path_loss_) {
        check_range("path_loss exponent", path_loss_->exponent, 0, 8);
        check_range("path_loss reference_m", path_loss_->reference_m, 0.1, 1e5);
        check_range("path_loss minimum_m", path_loss_->minimum_m, 0.1, path_loss_->reference_m,
                    "reference_m");
    }
    if (attenuator_) {
        check_range("attenuator step_db", attenuator_->step_db, 0.01, 10);
        check_range("attenuator tick_ms", attenuator_->tick_ms, 1, 1000);
        check_range("attenuator headroom_db", attenuator_->headroom_db, 0, 60);
        check_range("attenuator range_db", attenuator_->range_db, 1, 127);
        tick_ = std::llround(attenuator_->tick_ms * context.sample_rate / 1e3);
    }
    for (const blackout_config& b : config.blackouts) {
        check_range("blackout duration_s", b.duration_s, 1e-6, 1e6);
        if (b.period_s > 0)
            check_range("blackout duration_s", b.duration_s, 1e-6, b.period_s, "period_s");
        check_range("blackout depth_db", b.depth_db, 0, 200);
        blackouts_.push_back({event_times("blackout", b.start_s, b.period_s, context.sample_rate),
                              std::llround(b.duration_s * context.sample_rate), b.depth_db});
    }
}

bool large_scale::empty() const noexcept {
    return !shadowing_ && !path_loss_ && blackouts_.empty();
}

db large_scale::slow(std::int64_t n) noexcept {
    if (!attenuator_) return db(smooth(n));
    const auto& [step, ms, headroom, range] = *attenuator_;
    const double wanted = headroom - smooth(floor_divide(n, tick_) * tick_);
    return db(headroom - std::clamp(step * std::floor(wanted / step + 0.5), 0.0, range));
}

double large_scale::smooth(std::int64_t n) noexcept {
    double sum = 0;
    if (shadowing_) sum += shadowing_->gain(movement_.metres(n)).value;
    if (path_loss_)
        sum -= 10 * path_loss_->exponent *
               std::log10(std::max(movement_.distance_m(n), path_loss_->minimum_m) /
                          path_loss_->reference_m);
    return sum;
}

db large_scale::blackout(std::int64_t n) const noexcept {
    double sum = 0;
    for (const interval& b : blackouts_) {
        const std::int64_t last = b.times.last(n);
        if (last != INT64_MIN && n - last < b.length) sum -= b.depth_db;
    }
    return db(sum);
}

std::int64_t large_scale::next_blackout_change(std::int64_t n) const noexcept {
    std::int64_t next = INT64_MAX;
    for (const interval& b : blackouts_) {
        const std::int64_t last = b.times.last(n);
        if (last != INT64_MIN && n - last < b.length) next = std::min(next, last + b.length);
        next = std::min(next, b.times.next(n));
    }
    return next;
}

}  // namespace wip::sample_model
