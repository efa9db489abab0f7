// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <gnuradio/sync_block.h>
#include <gnuradio/wip/api.h>

#include <cstdint>
#include <memory>

namespace gr::wip {

class WIP_API channel_estimator : virtual public gr::sync_block {
public:
    using sptr = std::shared_ptr<channel_estimator>;
    // The description of the block and its parameters; Python shows it as its help.
    static constexpr const char* doc =
        R"(Resource elements of a slot (6 x 500) to three outputs: the equalised elements (6 x
500), the channel at the slot's middle (500), the SNR of each bin in dB (25). Estimates from the
pilots, then again from pilots and decoded control symbols, as slot_receiver does. Tags on the
channel and the SNR: noise (variance per element), bin_noise (the same of each bin, 25: more where
there is interference), estimate_error (in units of noise), grant_ok.

cell        0..63, pilot sequence, when no `cell` tag (of the synchroniser) says otherwise
start_slot  slot of the first item when no `slot` tag says otherwise, >= 0

ValueError, in C++ invalid_argument, names parameter, value and range.)";

    static sptr make(int cell = 0, std::int64_t start_slot = 150);

    virtual std::uint64_t slots() const = 0;
    virtual std::uint64_t grants_ok() const = 0;
};

}  // namespace gr::wip
