// SPDX-License-Identifier: GPL-3.0-or-later
// Rayleigh fading of many paths as sums of sinusoids (Jakes), slot by slot. A path has several
// rays, and its power is the sum of theirs; the mean of this sum over time is 1. A ray has
//   I = N^-1/2 sum_n cos(2 pi f t cos a_n + p_n), a_n = (pi/2)(n - 1 + u)/N, n = 1..N
//   Q                                   the same with 1 - u for u, and phases p_n of its own
// where u, between 0 and 1, is fixed for a ray of a receiver, and f is the Doppler frequency in Hz.
// The angles of I and Q, mirrored into all quadrants, are 4N directions at equal distances: so the
// mean autocorrelation of I and Q is J0(2 pi f tau) to machine precision while 2 pi f tau < 2N.
// Each ray of each receiver has another u, so that no two rays of a user have the same frequencies.
// Phases are random for each user, ray and receiver.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace wip::cells {

class jakes_fading {
public:
    // Makes the paths of every user to each receiver. advance() computes `slots` slots of `slot_s`
    // seconds at once.
    jakes_fading(int users, int receivers, int rays, int oscillators, double doppler_hz,
                 double slot_s, int slots, std::uint64_t seed);

    // The next `slots` slots.
    void advance();
    // Power of each user's path to the receiver in slot `slot` of those that advance() computed.
    std::span<const float> power(int receiver, int slot) const;
    // The amplitudes of one ray in these slots, for tests: I and Q, of mean power 1 together.
    void ray(int receiver, int ray, int user, std::span<float> in_phase,
             std::span<float> quadrature) const;

private:
    struct quadrature_part {
        std::vector<double> hz;  // [oscillator], Doppler frequency
        std::vector<float> cosine,
            sine;  // [oscillator][slot], of the phase since the first slot of the call
        std::vector<float> turn_cosine,
            turn_sine;              // [oscillator], of the phase over all slots of a call
        std::vector<double> phase;  // [oscillator][user], in turns
        std::vector<float> start_cosine,
            start_sine;  // [oscillator][user], of the phase in the first slot of the call
    };
    void compute_phases(quadrature_part& p) const;
    void rotate_phases(quadrature_part& p) const;
    void add_power(const quadrature_part& p, float* power) const;

    // width_: number of users, rounded up to whole vectors (types/lanes.h)
    int users_, width_, receivers_, rays_, oscillators_, slots_;
    double slot_s_;
    std::int64_t calls_ = 0;
    std::vector<quadrature_part> parts_;  // [receiver][ray][I, Q]
    std::vector<float> power_;            // [receiver][slot][user]
};

}  // namespace wip::cells
