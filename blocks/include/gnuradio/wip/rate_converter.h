// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <gnuradio/block.h>
#include <gnuradio/wip/api.h>

#include <cstdint>
#include <memory>

namespace gr::wip {

class WIP_API rate_converter : virtual public gr::block {
public:
    using sptr = std::shared_ptr<rate_converter>;
    // The description of the block and its parameters; Python shows it as its help.
    static constexpr const char* doc =
        R"(The same signal at another sample rate, times exact to the sample for ever: between a
radio whose clock does not give 7.68 MS/s and the blocks that want it, either way.

Rates are clock / divider, whole numbers: 100000000 / 12 to 7680000 / 1. A tag rx_time or tx_time
begins the stream anew at that time, unless it says what is counted anyway. The first output at or
after it is tagged with the time that it has (tx_sob goes along). tx_eob ends a burst: its last
output is the last one before the end.

in_clock, out_clock      rate times divider, 1..1e10 Hz
in_divider, out_divider  1..100000
first                    outputs before this sample of their rate are left out, 0 or more

ValueError, in C++ invalid_argument, names parameter, value and range.)";

    static sptr make(std::int64_t in_clock, std::int64_t in_divider, std::int64_t out_clock,
                     std::int64_t out_divider, std::int64_t first = 0);
    // Sets the number of the first output of the stream that begins with the next time tag. May be
    // called by any thread.
    virtual void set_first(std::int64_t first) = 0;
};

}  // namespace gr::wip
