// SPDX-License-Identifier: GPL-3.0-or-later
// The 108 payload elements of each chosen bin, out of 6 x 500 elements of a slot, in the order in
// which frames are sent.
#pragma once

#include <gnuradio/sync_interpolator.h>
#include <gnuradio/wip/api.h>

#include <memory>
#include <vector>

namespace gr {
namespace wip {

class WIP_API payload_demapper : virtual public gr::sync_interpolator {
public:
    using sptr = std::shared_ptr<payload_demapper>;
    // bins  indexes 0..24, ascending; empty: all 25
    // Throws std::invalid_argument naming parameter, value and range.
    static sptr make(const std::vector<int>& bins = {});
};

}  // namespace wip
}  // namespace gr
