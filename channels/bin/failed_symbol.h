// SPDX-License-Identifier: GPL-3.0-or-later
// How the frames of one constellation fail in white Gaussian noise: how often, at which symbol
// first, and where a wrong symbol lies (symbol_channel.h says what for). The symbol error rate is
// tabulated on a grid of 0.05 dB, its logarithm linear in between: within 3e-4 of itself.
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

    double rate(double snr) const noexcept;      // of a symbol
    double frame_ok(double snr) const noexcept;  // all 108 right
    // The first wrong symbol of a frame that fails, from a uniform number in (0, 1).
    std::size_t first_wrong(double snr, double uniform) const noexcept;

    // Squared distance from a point to the border of its region in a direction (in turns); infinite
    // where there is none.
    double border_squared(std::uint8_t label, double turn) const noexcept;
    // The least of all.
    double nearest_squared() const noexcept { return nearest_squared_; }

private:
    std::vector<std::complex<double>> points_;
    std::vector<double> log_rate_;  // by SNR in dB
    double nearest_squared_ = 0;
};

}  // namespace wip::bin_model
