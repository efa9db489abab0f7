// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <gnuradio/sync_interpolator.h>
#include <gnuradio/wip/api.h>

#include <memory>
#include <vector>

namespace gr::wip {

class WIP_API payload_demapper : virtual public gr::sync_interpolator {
public:
    using sptr = std::shared_ptr<payload_demapper>;
    // The description of the block and its parameters; Python shows it as its help.
    static constexpr const char* doc =
        R"(The 108 payload elements of each chosen bin, out of 6 x 500 elements of a slot, in the
order in which frames are sent.

bins  indexes 0..24, ascending; empty: all 25

ValueError, in C++ invalid_argument, names parameter, value and range.)";

    static sptr make(const std::vector<int>& bins = {});
};

}  // namespace gr::wip
