// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <gnuradio/block.h>
#include <gnuradio/wip/api.h>

#include <cstdint>
#include <memory>
#include <vector>

namespace gr::wip {

class WIP_API combining_meter : virtual public gr::block {
public:
    using sptr = std::shared_ptr<combining_meter>;
    // The description of the block and its parameters; Python shows it as its help.
    static constexpr const char* doc =
        R"(How many transmissions frames need, with and without chase combining: compares two
slot_receivers on the same samples of a test pattern of `transmissions` (slot_transmitter), one
with combining off and one with it on. Both have to publish every slot (message_period 1).

Message ports in: "single", "combined": the "slots" of the two receivers.
Message ports out, every `update_slots` of air time:
  "failed"  PDU of complex, the last 200 values: per cent of frames that no transmission brought,
            real: single, imaginary: combined (QT GUI Time Sink, Complex Message, 200)
  "needed_single", "needed_combined"  PDUs of float, one for each frame since the last update:
            how many transmissions it took; transmissions + 1: not received at all (QT GUI
            Histogram Sink, Float Message)

transmissions  of the test pattern, 1..8
update_slots   air time between two messages, 1..15000

ValueError, in C++ invalid_argument, names parameter, value and range.)";

    static sptr make(int transmissions = 4, int update_slots = 150);

    // Frames since the start by the number of transmissions they took, index 0: one; the last
    // entry: not received.
    virtual std::vector<std::uint64_t> single() const = 0;
    virtual std::vector<std::uint64_t> combined() const = 0;
};

}  // namespace gr::wip
