// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <gnuradio/sync_block.h>
#include <gnuradio/wip/api.h>

#include <memory>

namespace gr::wip {

class WIP_API carrier_demapper : virtual public gr::sync_block {
public:
    using sptr = std::shared_ptr<carrier_demapper>;
    // The description of the block and its parameters; Python shows it as its help.
    static constexpr const char* doc =
        R"(A slot of 5120 samples to its resource elements: six OFDM symbols of 500 subcarriers,
lowest frequency first, unit mean energy at -15 dBFS. Corrects CFO and timing as the tags of the
synchroniser say; without tags the slot is taken as it is.)";

    static sptr make();
};

}  // namespace gr::wip
