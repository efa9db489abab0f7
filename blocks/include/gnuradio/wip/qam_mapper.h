// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <gnuradio/sync_block.h>
#include <gnuradio/wip/api.h>

#include <memory>
#include <vector>

namespace gr::wip {

class WIP_API qam_mapper : virtual public gr::sync_block {
public:
    using sptr = std::shared_ptr<qam_mapper>;
    // The description of the block and its parameters; Python shows it as its help.
    static constexpr const char* doc =
        R"(Labels (one a byte, the lower bits_per_symbol bits) to points of unit mean energy:
BPSK, 4-QAM, star 8, 16, cross 32, 64, cross 128, 256-QAM. Put a Packed to Unpacked (MSB first)
before it to send bytes.

bits_per_symbol  1 BPSK, 2 4-QAM ... 8 256-QAM

ValueError, in C++ invalid_argument, names parameter, value and range.)";

    static sptr make(int bits_per_symbol = 2);
    // Point of each label.
    virtual std::vector<gr_complex> points() const = 0;
};

}  // namespace gr::wip
