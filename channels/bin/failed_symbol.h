// SPDX-License-Identifier: GPL-3.0-or-later
// How frames of one constellation fail in white Gaussian noise: how often, which symbol is the
// first wrong one, and where in the plane a wrong symbol is received. symbol_channel.h uses it for
// its method `computed`. The symbol error rate is tabulated on a grid of 0.05 dB, its logarithm
// linear in between: within 3e-4 of itself.
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "types/eight_points.h"

namespace wip::bin_model {

class failed_symbol {
public:
    // `points`: by label, mean energy 1.
    failed_symbol(int bits_per_symbol, std::span<const std::complex<float>> points,
                  eight_points eight = eight_points::star);

    double rate(double snr) const noexcept;      // probability that a symbol is wrong
    double frame_ok(double snr) const noexcept;  // probability that all 108 symbols are right
    // Returns uniform < frame_ok(snr). frame_ok is computed only where the number lies between its
    // values at the two ends of the table's interval.
    bool frame_right(float snr, double uniform) const noexcept;
    // Draws the index of the first wrong symbol of a frame that fails, from a uniform number in (0,
    // 1).
    std::size_t first_wrong(double snr, double uniform) const noexcept;

    // Squared distance from the point `label` to the boundary of its decision region in a direction
    // (in turns); infinite if the region has no boundary there.
    double boundary_distance_squared(std::uint8_t label, double turn) const noexcept;
    // The least squared distance of any point to its boundary in any direction.
    double least_distance_squared() const noexcept { return least_distance_squared_; }

private:
    // One of the points that bound the region of another, seen from there.
    struct neighbour {
        double x, y, norm;
    };
    std::vector<neighbour> neighbours_;  // neighbours of label 0, of label 1, ...
    // [label]: its first entry in neighbours_; last: the number of entries.
    std::vector<std::size_t> first_;
    std::span<const double> log_rate_;  // by SNR in dB
    std::vector<double> ok_;            // frame_ok, by SNR in dB
    double least_distance_squared_ = 0;
};

// The tables for k = 1..8 bits per symbol. They never change, so terminals with the same 8-point
// constellation share them: making them takes as long as ten slots.
class failure_tables {
public:
    explicit failure_tables(eight_points eight);
    const failed_symbol& of(int bits_per_symbol) const {
        return by_bits_[static_cast<std::size_t>(bits_per_symbol - 1)];
    }

private:
    std::vector<failed_symbol> by_bits_;
};

}  // namespace wip::bin_model
