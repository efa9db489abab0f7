// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <gnuradio/block.h>
#include <gnuradio/wip/api.h>

#include <cstdint>
#include <memory>

namespace gr::wip {

class WIP_API synchroniser : virtual public gr::block {
public:
    using sptr = std::shared_ptr<synchroniser>;
    // The description of the block and its parameters; Python shows it as its help.
    static constexpr const char* doc =
        R"(Samples at 7.68 MS/s in; slots out, each a vector of 5120 samples without the radio's
DC offset and image. Tags on every slot:
  slot             its number, uint64
  cell             whose it is
  cfo_hz           carrier frequency offset
  cfo_phase        of the correction at the first sample, radians
  timing_fraction  part of the timing that is not in the cut, samples
  timing_samples   the whole of it: start of the slot modulo 5120 and the fraction
  cfo_turn         radians } what the steps of the tracking loops have added up to: the channel
  timing_shift     samples } with them taken out is that of a receiver that holds still, which is
                           what a predictor needs
  pilot_score      0..1
Nothing comes out while there is no signal. When an rx_time tag says that up to 100 slots are
missing, timing is kept and the slot numbers jump; after a longer gap, or a jump back, the search
starts again.

cell        0..63: that one and no other; -1: the strongest, whichever it is
start_slot  slot of the first sample when no rx_time tag says otherwise, >= 0

ValueError, in C++ invalid_argument, names parameter, value and range.)";

    static sptr make(int cell = 0, std::int64_t start_slot = 150);

    virtual bool locked() const = 0;
    virtual double cfo_hz() const = 0;
    virtual std::uint64_t locks() const = 0;
};

}  // namespace gr::wip
