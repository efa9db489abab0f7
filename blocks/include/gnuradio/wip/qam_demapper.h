// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <gnuradio/sync_block.h>
#include <gnuradio/wip/api.h>

#include <memory>

namespace gr::wip {

class WIP_API qam_demapper : virtual public gr::sync_block {
public:
    using sptr = std::shared_ptr<qam_demapper>;
    // The description of the block and its parameters; Python shows it as its help.
    static constexpr const char* doc =
        R"(Complex symbols to the label of the nearest point of qam_mapper, one in the lower bits of a byte.

bits_per_symbol  1 BPSK, 2 4-QAM ... 8 256-QAM

ValueError, in C++ invalid_argument, names parameter, value and range.)";

    static sptr make(int bits_per_symbol = 2);
};

}  // namespace gr::wip
