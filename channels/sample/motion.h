// SPDX-License-Identifier: GPL-3.0-or-later
// How the terminal moves, as a function of the absolute sample index. Three kinds:
//
//   constant_speed   constant; the largest Doppler shift is f
//   passing_train    3GPP TS 36.104 annex B.3: a train passes base stations at distance Dmin from
//                    the track and Ds from each other. The shift of the line of sight is
//                    f cos(theta(t)), period
//                    2 Ds/v, with  cos = (Ds/2 - v t)/r,    0 <= v t <= Ds,
//                                  cos = (v t - 3 Ds/2)/r,  Ds < v t < 2 Ds,
//                    r^2 = Dmin^2 + (the numerator)^2. Its phase has a closed form, since
//                    d r/dt = -v cos in the first half and +v cos in the second:
//                    (f/v)(r(0) - r) turns, then (f/v)(r - r(Ds/v)); a period adds up to none.
//   waypoint_track   straight from point to point at a speed for each stretch, and back to the
//                    first point if closed, else it stays at the last; the base station is at
//                    (0, 0)
//
// Fading and shadowing are functions of the distance travelled, s(t): scattered waves turn with s
// in wavelengths (their spectrum is Clarke's with v(t)), shadowing changes with s in metres. On a
// closed track the fading is different in every round, as if the surroundings had changed. At a
// corner of a track the speed changes at once; in the delay line over one interval of its knots
// (tap_curves.h). The direct path: constant_speed 0.7 f (45 degrees, as TR 38.901 7.7.2), train as
// above, track from the distance r(t) to the base station: -r/wavelength turns.
#pragma once

#include <cstdint>
#include <variant>
#include <vector>

namespace wip::sample_model {

inline constexpr double speed_of_light = 299792458.0;

struct constant_speed {
    double doppler_hz = 0;
};
struct passing_train {
    double doppler_hz = 1340;
    double speed_mps = 350 / 3.6;
    double spacing_m = 1000;  // Ds
    double distance_m = 50;   // Dmin
};
struct waypoint {
    double x_m = 0, y_m = 0;
    double speed_mps = 0;  // from here to the next
};
struct waypoint_track {
    std::vector<waypoint> points;  // one point: the terminal stands still
    bool closed = true;
};
// The limits of the carrier in the table of settings.
inline constexpr double lowest_carrier_hz = 1e6, highest_carrier_hz = 1e10;
struct motion_config {
    std::variant<constant_speed, passing_train, waypoint_track> path{};
    double carrier_hz = 1.8e9;  // converts between metres and wavelengths
};

// Throws std::invalid_argument that names the speed, the carrier and the highest valid speed.
void check_doppler(double doppler_hz, double carrier_hz);

class motion {
public:
    // Throws std::invalid_argument for a shift above max_doppler_hz, no points, or a stretch at
    // speed 0.
    motion(const motion_config& config, double sample_rate);

    bool constant() const noexcept;              // the Doppler shift never changes
    double largest_doppler_hz() const noexcept;  // over all times
    // Largest Doppler shift at sample n: speed over wavelength, which is the edge of Clarke's
    // spectrum.
    double doppler_hz(std::int64_t n) const noexcept;
    double speed_mps(std::int64_t n) const noexcept { return doppler_hz(n) * wavelength_; }
    double wavelengths(std::int64_t n) const noexcept;  // travelled since sample 0
    double metres(std::int64_t n) const noexcept { return wavelengths(n) * wavelength_; }
    // Shift and phase of the direct path.
    double direct_hz(std::int64_t n) const noexcept;
    double direct_turns(std::int64_t n) const noexcept;
    // To the base station; 0 where there is none (constant speed).
    double distance_m(std::int64_t n) const noexcept;

private:
    struct stretch {
        double begin_s, begin_m;  // time and length at its beginning
        double x, y, dx, dy;      // start, direction (unit vector)
        double speed;
    };
    struct place {
        double x, y, dx, dy, speed, length;
    };
    place at(std::int64_t n) const noexcept;

    motion_config config_;
    double sample_rate_, wavelength_;
    std::vector<stretch> stretches_;
    double period_s_ = 0, period_m_ = 0;  // time and length of a whole track
};

}  // namespace wip::sample_model
