// SPDX-License-Identifier: GPL-3.0-or-later
#include "sample/motion.h"

#include <algorithm>
#include <cmath>

#include "sample/clarke_waves.h"
#include "sample/sample_stage.h"

namespace wip::sample_model {
namespace {

// The position of a train: the numerator of cos(theta), its distance r, and whether it is in the
// first half of the period.
struct train_place {
    double along, r;
    bool first;
};
train_place place_of(const passing_train& t, double seconds) {
    const double period = 2 * t.spacing_m;
    double s = std::fmod(t.speed_mps * seconds, period);
    if (s < 0) s += period;
    const bool first = s <= t.spacing_m;
    const double along = first ? t.spacing_m / 2 - s : s - 1.5 * t.spacing_m;
    return {along, std::hypot(along, t.distance_m), first};
}

}  // namespace

void check_doppler(double doppler_hz, double carrier_hz) {
    if (doppler_hz >= 0 && doppler_hz <= max_doppler_hz) return;
    const double kmh_per_hz = 3.6 * speed_of_light / carrier_hz;
    refuse("the speed",
           text_of(doppler_hz * kmh_per_hz) + " km/h at a carrier of " + text_of(carrier_hz) +
               " Hz, a Doppler shift of " + text_of(doppler_hz) + " Hz",
           "0.." + text_of(max_doppler_hz * kmh_per_hz) +
               " km/h with this carrier, a shift of 0.." + text_of(max_doppler_hz) + " Hz");
}

motion::motion(const motion_config& config, double sample_rate)
    : config_(config), sample_rate_(sample_rate), wavelength_(speed_of_light / config.carrier_hz) {
    check_range("sample_rate", sample_rate, 1, 1e9);
    check_range("carrier_hz", config.carrier_hz, lowest_carrier_hz, highest_carrier_hz);
    if (const auto* c = std::get_if<constant_speed>(&config_.path))
        check_doppler(c->doppler_hz, config.carrier_hz);
    if (const auto* t = std::get_if<passing_train>(&config_.path)) {
        check_range("train doppler_hz", t->doppler_hz, 0, max_doppler_hz);
        check_range("train speed in m/s", t->speed_mps, 0.1, 300);
        check_range("train spacing_m", t->spacing_m, 1, 1e5);
        check_range("train distance_m", t->distance_m, 0.1, 1e5);
    }
    const auto* track = std::get_if<waypoint_track>(&config_.path);
    if (!track) return;
    const std::vector<waypoint>& p = track->points;
    check_range("the number of points of the track", static_cast<double>(p.size()), 1, 1000);
    for (const waypoint& w : p) {
        check_range("track x_m", w.x_m, -1e6, 1e6);
        check_range("track y_m", w.y_m, -1e6, 1e6);
    }
    const std::size_t count = p.size() == 1 ? 0 : track->closed ? p.size() : p.size() - 1;
    for (std::size_t i = 0; i < count; ++i) {
        const waypoint &a = p[i], &b = p[(i + 1) % p.size()];
        const double length = std::hypot(b.x_m - a.x_m, b.y_m - a.y_m);
        if (length == 0) continue;
        check_range("track speed in m/s", a.speed_mps, 0.01, max_doppler_hz * wavelength_,
                    "a Doppler shift of " + text_of(max_doppler_hz) + " Hz");
        stretches_.push_back({period_s_, period_m_, a.x_m, a.y_m, (b.x_m - a.x_m) / length,
                              (b.y_m - a.y_m) / length, a.speed_mps});
        period_s_ += length / a.speed_mps;
        period_m_ += length;
    }
    if (!track->closed || stretches_.empty())  // stays at the last point
        stretches_.push_back({period_s_, period_m_, p.back().x_m, p.back().y_m, 1, 0, 0});
}

bool motion::constant() const noexcept {
    return std::holds_alternative<constant_speed>(config_.path);
}

double motion::largest_doppler_hz() const noexcept {
    if (const auto* c = std::get_if<constant_speed>(&config_.path)) return c->doppler_hz;
    if (const auto* t = std::get_if<passing_train>(&config_.path)) return t->doppler_hz;
    double fastest = 0;
    for (const stretch& s : stretches_) fastest = std::max(fastest, s.speed);
    return fastest / wavelength_;
}

motion::place motion::at(std::int64_t n) const noexcept {
    double t = static_cast<double>(n) / sample_rate_, before_m = 0;
    if (std::get<waypoint_track>(config_.path).closed && period_s_ > 0) {
        const double rounds = std::floor(t / period_s_);
        t -= rounds * period_s_;
        before_m = rounds * period_m_;
    }
    const auto next = std::upper_bound(stretches_.begin(), stretches_.end(), t,
                                       [](double x, const stretch& s) { return x < s.begin_s; });
    const stretch& s = next == stretches_.begin() ? *next : *(next - 1);
    const double m = (t - s.begin_s) * s.speed;
    return {s.x + m * s.dx, s.y + m * s.dy, s.dx, s.dy, s.speed, before_m + s.begin_m + m};
}

double motion::doppler_hz(std::int64_t n) const noexcept {
    return std::holds_alternative<waypoint_track>(config_.path) ? at(n).speed / wavelength_
                                                                : largest_doppler_hz();
}

double motion::wavelengths(std::int64_t n) const noexcept {
    if (std::holds_alternative<waypoint_track>(config_.path)) return at(n).length / wavelength_;
    return largest_doppler_hz() * (static_cast<double>(n) / sample_rate_);
}

double motion::direct_hz(std::int64_t n) const noexcept {
    if (const auto* c = std::get_if<constant_speed>(&config_.path)) return 0.7 * c->doppler_hz;
    if (const auto* t = std::get_if<passing_train>(&config_.path)) {
        const train_place p = place_of(*t, static_cast<double>(n) / sample_rate_);
        return t->doppler_hz * p.along / p.r;
    }
    const place p = at(n);
    const double r = std::hypot(p.x, p.y);
    return r > 0 ? -p.speed * (p.x * p.dx + p.y * p.dy) / (r * wavelength_) : 0;
}

double motion::direct_turns(std::int64_t n) const noexcept {
    const double t = static_cast<double>(n) / sample_rate_;
    if (const auto* c = std::get_if<constant_speed>(&config_.path)) return 0.7 * c->doppler_hz * t;
    if (const auto* train = std::get_if<passing_train>(&config_.path)) {
        const train_place p = place_of(*train, t);
        const double ends = std::hypot(train->spacing_m / 2, train->distance_m);
        return train->doppler_hz / train->speed_mps * (p.first ? ends - p.r : p.r - ends);
    }
    return -distance_m(n) / wavelength_;
}

double motion::distance_m(std::int64_t n) const noexcept {
    if (const auto* t = std::get_if<passing_train>(&config_.path))
        return place_of(*t, static_cast<double>(n) / sample_rate_).r;
    if (!std::holds_alternative<waypoint_track>(config_.path)) return 0;
    const place p = at(n);
    return std::hypot(p.x, p.y);
}

}  // namespace wip::sample_model
