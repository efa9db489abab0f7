// SPDX-License-Identifier: GPL-3.0-or-later
// A slot of 5120 samples to its resource elements: six OFDM symbols of 500 subcarriers, lowest
// frequency first, unit mean energy at -15 dBFS. Corrects CFO and timing as the tags of the
// synchroniser say; without tags the slot is taken as it is.
#pragma once

#include <gnuradio/sync_block.h>
#include <gnuradio/wip/api.h>

#include <memory>

namespace gr {
namespace wip {

class WIP_API carrier_demapper : virtual public gr::sync_block {
public:
    using sptr = std::shared_ptr<carrier_demapper>;
    static sptr make();
};

}  // namespace wip
}  // namespace gr
