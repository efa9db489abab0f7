// SPDX-License-Identifier: GPL-3.0-or-later
#include "vusrp/analog_edge.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include "sample/complex_multiply.h"
#include "sample/counter_random.h"
#include "sample/fast_math.h"
#include "sample/floor_divide.h"

namespace wip::vusrp {
namespace {

using sample_model::uniform;
constexpr double pi = std::numbers::pi, day_s = 86400;
constexpr std::uint32_t gain_use = 0x6761696Eu, wander_use = 0x77616E64u, step_use = 0x73746570u;

double either_way(std::uint64_t counter, std::uint32_t key) {
    return 2 * uniform(counter, key) - 1;
}

// Complex, of unit mean power.
std::complex<double> normal(std::uint64_t counter, std::uint32_t key) {
    const double radius = std::sqrt(-std::log(uniform(2 * counter, key)));
    return std::polar(radius, 2 * pi * uniform(2 * counter + 1, key));
}

}  // namespace

actual_gain error_of_gain(const gain_error_limits& limits, std::uint32_t key, double gain) {
    const auto setting = static_cast<std::uint64_t>(std::llround(gain * 100));
    return {db(limits.level_db * either_way(2 * setting, key ^ gain_use)),
            limits.degrees / 360 * either_way(2 * setting + 1, key ^ gain_use)};
}

actual_gain between(const actual_gain& from, const actual_gain& to, double part) {
    const double way = std::remainder(to.turns - from.turns, 1.0);
    return {from.level + db(part * (to.level - from.level).value),
            std::remainder(from.turns + part * way, 1.0)};
}

oscillator_wander::oscillator_wander(const wander_limits& limits, std::uint32_t key)
    : aging_(1e-6 * limits.ppm_a_day * either_way(0, key ^ wander_use)),
      warm_up_(1e-6 * limits.warm_up_ppm * either_way(1, key ^ wander_use)),
      temperature_(1e-6 * limits.temperature_ppm),
      phase_(2 * pi * uniform(2, key ^ wander_use)) {}

double oscillator_wander::parts(double seconds) const {
    return aging_ * seconds / day_s + warm_up_ * (1 - std::exp(-seconds / warm_up_s)) +
           temperature_ *
               (std::sin(2 * pi * seconds / temperature_period_s + phase_) - std::sin(phase_));
}

double oscillator_wander::turned_seconds(double seconds) const {
    constexpr double turn = temperature_period_s / (2 * pi);
    return aging_ * seconds * seconds / (2 * day_s) +
           warm_up_ * (seconds - warm_up_s * (1 - std::exp(-seconds / warm_up_s))) +
           temperature_ * (turn * (std::cos(phase_) - std::cos(seconds / turn + phase_)) -
                           seconds * std::sin(phase_));
}

wander_stage::wander_stage(const wander_limits& limits, std::uint32_t key, double sample_rate,
                           int sign, std::shared_ptr<const std::atomic<double>> carrier_hz)
    : wander_(limits, key), rate_(sample_rate), sign_(sign), carrier_hz_(std::move(carrier_hz)) {}

// The phase is exact at multiples of a grid of the absolute index, and on a straight line between.
void wander_stage::work(std::int64_t first, std::span<cf32> x) const noexcept {
    constexpr std::int64_t grid = sample_model::multiply_block;
    const double carrier = sign_ * carrier_hz_->load(std::memory_order_relaxed);
    const auto turns = [&](std::int64_t knot) {
        return carrier * wander_.turned_seconds(static_cast<double>(knot * grid) / rate_);
    };
    for (std::size_t done = 0; done < x.size();) {
        const std::int64_t at = first + static_cast<std::int64_t>(done);
        const std::int64_t knot = sample_model::floor_divide(at, grid);
        const std::int64_t offset = at - knot * grid;
        const std::size_t n = std::min(x.size() - done, static_cast<std::size_t>(grid - offset));
        const double begin = turns(knot), slope = (turns(knot + 1) - begin) / double(grid);
        const double base = begin - std::floor(begin);
        alignas(64) float re[grid], im[grid];
        for (std::size_t i = 0; i < n; ++i) {
            const double t = base + slope * static_cast<double>(offset + std::int64_t(i));
            const auto w = sample_model::fast_sincos(
                static_cast<std::uint32_t>(static_cast<std::int64_t>(t * 0x1p32)));
            re[i] = w.cosine;
            im[i] = w.sine;
        }
        sample_model::multiply(x.data() + done, re, im, x.data() + done, n);
        done += n;
    }
}

tracked_errors::tracked_errors(const front_end& front, const tracking_steps& steps,
                               std::uint32_t key, double sample_rate)
    : steps_(steps),
      key_(key ^ step_use),
      interval_(std::max<std::int64_t>(std::llround(steps.interval_s * sample_rate), 1)),
      dc_(std::polar(db(front.dc_dbfs).amplitude(), 2 * pi * (key / 360 % 360) / 360)),
      image_(std::polar(db(-front.image_db).amplitude(), 2 * pi * (key % 360) / 360)) {}

tracked_errors::residue tracked_errors::at(std::int64_t step) const noexcept {
    const auto counter = static_cast<std::uint64_t>(step);
    return {dc_ + db(steps_.dc_dbfs).amplitude() * normal(2 * counter, key_),
            image_ + db(-steps_.image_db).amplitude() * normal(2 * counter + 1, key_)};
}

void tracked_errors::work(std::int64_t first, std::span<cf32> x) noexcept {
    while (!x.empty()) {
        const std::int64_t step = sample_model::floor_divide(first, interval_);
        const std::size_t n =
            std::min(x.size(), static_cast<std::size_t>((step + 1) * interval_ - first));
        const residue now = at(step);
        const double a = 1 / std::sqrt(1 + std::norm(now.image));
        const std::complex<double> b = a * now.image;
        const auto re_re = static_cast<float>(a + b.real()), cross = static_cast<float>(b.imag()),
                   im_im = static_cast<float>(a - b.real());
        const cf32 c(now.dc);
        for (cf32& v : x.first(n))
            v = {re_re * v.real() + cross * v.imag() + c.real(),
                 cross * v.real() + im_im * v.imag() + c.imag()};
        first += static_cast<std::int64_t>(n);
        x = x.subspan(n);
    }
}

void burst_ramp::work(std::span<cf32> x) noexcept {
    for (std::size_t i = 0; i < x.size() && done_ < samples_; ++i, ++done_) {
        const double part = std::max(static_cast<double>(done_) + 0.5, 0.0) / double(samples_);
        x[i] *= static_cast<float>(0.5 - 0.5 * std::cos(pi * part));
    }
}

}  // namespace wip::vusrp
