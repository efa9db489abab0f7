// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <gnuradio/sync_interpolator.h>
#include <gnuradio/wip/api.h>

#include <memory>

namespace gr::wip {

class WIP_API qam_soft_demapper : virtual public gr::sync_interpolator {
public:
    using sptr = std::shared_ptr<qam_soft_demapper>;
    // The description of the block and its parameters; Python shows it as its help.
    static constexpr const char* doc =
        R"(Complex symbols to max-log soft bits, bits_per_symbol floats for each, most significant
bit first; positive means 0.

bits_per_symbol  1 BPSK, 2 4-QAM ... 8 256-QAM
noise_variance   E|n|^2 of a symbol, symbols having unit mean energy; 1e-12..1e12

ValueError, in C++ invalid_argument, names parameter, value and range.)";

    static sptr make(int bits_per_symbol = 2, float noise_variance = 1);
};

}  // namespace gr::wip
