// SPDX-License-Identifier: GPL-3.0-or-later
// Symbol error rates of the eight constellations in white Gaussian noise with nearest-point
// decision, exact for any point set. Around a point, noise leaves its decision region along the
// direction t with probability exp(-R(t)^2 / N0), R(t) being the distance to the region's boundary
// (the noise power beyond a radius is exponential), so
//
//   SER = mean over points of 1/(2 pi) integral exp(-R(t)^2 SNR) dt,   SNR = 1 / N0, unit energy.
//
// R(t) is the least of |d|^2 / (2 d.u(t)) over the other points at distance d. The integrand is
// smooth but for corners of the region; 1440 angles are good to 1e-4 of the SER
// (tests/unit/mac/test_switch_table.cpp compares with the closed forms of the square sets).
//
// Sets: BPSK, square 4/16/64/256, cross 32 (6 x 6 without its corners) and 128 (12 x 12 without
// four 2 x 2 corners), and for 8 points the star of the largest least distance: (+-1, +-1) and the
// axes at 1 + sqrt 3, least distance squared 0.845 of the mean energy (rectangular 4 x 2: 0.667),
// or another of types/eight_points.h.
#pragma once

#include <complex>
#include <vector>

#include "types/eight_points.h"

namespace wip {

// The points of k bits per symbol, k = 1..8, mean energy 1.
std::vector<std::complex<double>> constellation_points(int bits_per_symbol,
                                                       eight_points eight = eight_points::star);

class symbol_error {
public:
    // Throws std::invalid_argument.
    explicit symbol_error(int bits_per_symbol, eight_points eight = eight_points::star);
    double rate(double snr) const;  // linear SNR >= 0
    // Probability that all symbols of a bin are right.
    double frame_ok(double snr) const;

private:
    struct radius {
        double squared = 0;  // R^2
        double weight = 0;   // share of all points and directions
    };
    std::vector<radius> radii_;  // ascending
};

}  // namespace wip
