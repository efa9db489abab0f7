// SPDX-License-Identifier: GPL-3.0-or-later
#include "phy/sync/tracking.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "phy/math/lane_sum.h"

namespace wip::phy {

namespace {

constexpr double two_pi = 2 * std::numbers::pi;
constexpr int pull_in_slots = 4;         // CFO from the slope within the slot
constexpr int first_timing_slots = 4;    // each of them corrects the timing by itself, with gain 1
constexpr int settled_after_slots = 40;  // slots after which the windows are long
// After `settled_after_slots` the gain of the timing falls with its updates n: 4 / (8 + n), down to
// slowest_gain, which it reaches at n = slowest_after. While the estimator's window is away from
// the mean delay (window_ is not 0), the limits are those `off_mean`.
constexpr double slowest_gain = 1.0 / 8;
constexpr int slowest_after = 24;
constexpr double slowest_gain_off_mean = 1.0 / 64;
constexpr int slowest_after_off_mean = 248;
constexpr double most_drift = 0.2;      // samples a slot: 39 ppm between the two clocks
constexpr double least_cfo_step = 0.1;  // Hz: turns the phase by 0.024 degrees a slot
constexpr int furthest_window = 21;     // samples: 2.7 us
constexpr int long_window = 256;        // many fades, so that their Doppler averages out
constexpr double symbol_seconds = slot_samples / 6.0 / static_cast<double>(sample_rate_hz);
constexpr double slot_seconds = slot_samples / static_cast<double>(sample_rate_hz);

// sum conj(a[n]) b[n]
std::complex<double> correlate(const float* ar, const float* ai, const float* br, const float* bi,
                               int n) {
    const auto [re, im] = lane_sum(static_cast<std::size_t>(n), [&](auto at) {
                              const auto xr = at(ar), xi = at(ai), yr = at(br), yi = at(bi);
                              return lane_terms{xr * yr + xi * yi, xr * yi - xi * yr};
                          }).of;  // the two sums
    return {re, im};
}

}  // namespace

void tracking::start(std::int64_t slot_start, double cfo_hz) noexcept {
    *this = {};
    start_ = slot_start;
    cfo_ = cfo_hz;
}

void tracking::update(const channel_estimate& channel) noexcept {
    update_timing(channel);
    update_cfo(channel);
    move_window(channel.move_window);  // by this many samples
    age_ = std::min(age_ + 1, settled_after_slots + 1);
}

void tracking::move_window(int later) noexcept {
    if (later == 0 || std::abs(window_ + later) > furthest_window) return;
    window_ += later;
    exact_fraction_ += later;
    shift_ += later;
    delay_sum_ = {};
    delay_slots_ = 0;
}

void tracking::update_timing(const channel_estimate& channel) noexcept {
    constexpr int distance = 5;
    const auto& h = channel.middle;
    delay_sum_ +=
        correlate(h.re, h.im, h.re + distance, h.im + distance, nof_subcarriers - distance);
    const int window = age_ < first_timing_slots ? 1 : 8;
    if (++delay_slots_ < window) return;
    // Five of the 495 pairs lie across DC, six subcarriers apart.
    constexpr double mean_distance = (490 * 5 + 5 * 6) / 495.0;
    const double delay = -std::arg(delay_sum_) * fft_size / (two_pi * mean_distance) + window_;
    if (std::isfinite(delay)) {
        const double slowest = window_ == 0 ? slowest_gain : slowest_gain_off_mean;
        const double gain = age_ < first_timing_slots ? 1
                            : age_ < settled_after_slots
                                ? 0.5
                                : std::max(4.0 / (8 + delay_updates_), slowest);
        exact_fraction_ += gain * delay;
        shift_ += gain * delay;
        if (age_ >= settled_after_slots) {
            delay_updates_ =
                std::min(delay_updates_ + 1, window_ == 0 ? slowest_after : slowest_after_off_mean);
            // K^2 / 32 makes the loop critically damped (tracking.h).
            drift_ = std::clamp(drift_ + gain * gain / 32 * delay, -most_drift, most_drift);
        }
    }
    delay_sum_ = {};
    delay_slots_ = 0;
}

void tracking::update_cfo(const channel_estimate& channel) noexcept {
    const auto& h = channel.middle;
    const auto& b = channel.slope;
    double error = 0;
    if (age_ < pull_in_slots) {
        const auto sum = correlate(h.re, h.im, b.re, b.im, nof_subcarriers);
        const auto power = correlate(h.re, h.im, h.re, h.im, nof_subcarriers).real();
        slope_sum_ += sum;
        slope_power_ += power;
        if (age_ == pull_in_slots - 1 && slope_power_ > 0)
            error = slope_sum_.imag() / slope_power_ / (two_pi * symbol_seconds);
    } else {
        if (has_last_) {
            turn_sum_ += correlate(last_.re, last_.im, h.re, h.im, nof_subcarriers);
            ++turn_slots_;
        }
        const int window = age_ < settled_after_slots ? 8 : long_window;
        if (turn_slots_ >= window) {
            error = std::arg(turn_sum_) / (two_pi * slot_seconds) *
                    (age_ < settled_after_slots ? 1 : 0.5);
            turn_sum_ = {};
            turn_slots_ = 0;
        }
    }
    if (std::isfinite(error) && std::abs(error) > least_cfo_step) cfo_ += error;
    last_ = h;
    has_last_ = true;
}

void tracking::move_grid(double later) noexcept {
    // The present slot has not been taken yet, so its fraction moves as well. shift_ stays: it
    // holds the loop's own steps alone.
    exact_fraction_ -= later;
    fraction_ = exact_fraction_;
    phase_ += two_pi * cfo_ * later / static_cast<double>(sample_rate_hz);
}

double tracking::turn() const noexcept {
    return turn_at_start_ + two_pi * (cfo_ - reference_cfo_) * slot_seconds / 2;
}

void tracking::advance() noexcept {
    turn_at_start_ += two_pi * (cfo_ - reference_cfo_) * slot_seconds;
    turn_at_start_ = std::remainder(turn_at_start_, two_pi);
    if (age_ <= settled_after_slots) reference_cfo_ = cfo_;
    const auto before = start_;
    start_ += slot_samples;
    exact_fraction_ += drift_;
    if (std::abs(exact_fraction_) > 0.6) {
        const std::int64_t whole = std::llround(exact_fraction_);
        start_ += whole;
        exact_fraction_ -= static_cast<double>(whole);
    }
    if (std::abs(exact_fraction_) > 1) exact_fraction_ = std::clamp(exact_fraction_, -1.0, 1.0);
    fraction_ = exact_fraction_;
    phase_ +=
        two_pi * cfo_ * static_cast<double>(start_ - before) / static_cast<double>(sample_rate_hz);
    phase_ = std::remainder(phase_, two_pi);
}

}  // namespace wip::phy
