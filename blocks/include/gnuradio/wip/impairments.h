// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <gnuradio/sync_block.h>
#include <gnuradio/wip/api.h>

#include <cstdint>
#include <memory>

namespace gr::wip {

class WIP_API impairments : virtual public gr::sync_block {
public:
    using sptr = std::shared_ptr<impairments>;
    // The description of the block and its parameters; Python shows it as its help.
    static constexpr const char* doc =
        R"(What a radio does to a signal: carrier and sampling clock offset, phase noise, IQ
imbalance, DC offset, quantisation, in this order; the models of channels/sample.

cfo_hz              carrier frequency offset, +-1e6; 0: none
clock_ppm           sampling clock offset, +-100; 0: none. A negative one begins with a delay
                    of 65536 samples and eats it up (28 minutes at 5 ppm), then freezes
linewidth_hz        phase noise of a free-running oscillator, 0..10000; 0: none
image_rejection_db  IQ imbalance, 3..200; 200: none
dc_dbfs             DC offset, -200..0; -200: none
bits                of the converter, 2..16; 0: none
seed                of the phase noise

ValueError, in C++ invalid_argument, names parameter, value and range.)";

    static sptr make(double cfo_hz = 0, double clock_ppm = 0, double linewidth_hz = 0,
                     double image_rejection_db = 200, double dc_dbfs = -200, int bits = 0,
                     std::uint64_t seed = 1);
};

}  // namespace gr::wip
