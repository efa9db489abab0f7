// SPDX-License-Identifier: GPL-3.0-or-later
// Complex symbols to the label of the nearest point, one a byte.
#pragma once

#include <gnuradio/sync_block.h>
#include <gnuradio/wip/api.h>

#include <memory>

namespace gr {
namespace wip {

class WIP_API qam_demapper : virtual public gr::sync_block {
public:
    using sptr = std::shared_ptr<qam_demapper>;
    // bits_per_symbol 1..8. Throws std::invalid_argument naming parameter, value and range.
    static sptr make(int bits_per_symbol = 2);
};

}  // namespace wip
}  // namespace gr
