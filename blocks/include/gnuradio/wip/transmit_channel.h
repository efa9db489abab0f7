// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <gnuradio/sync_block.h>
#include <gnuradio/wip/api.h>

#include <cstdint>
#include <memory>
#include <string>

namespace gr::wip {

class WIP_API transmit_channel : virtual public gr::sync_block {
public:
    using sptr = std::shared_ptr<transmit_channel>;
    // The description of the block and its parameters; Python shows it as its help.
    static constexpr const char* doc =
        R"(The channel in the transmitter, for two radios on one cable: what the sink sends at a
time is what a medium with the same channel, seed and noise would let the terminal hear then.
Between slot_transmitter and the sink, whose tx_time tags (kept where they are) say which sample
this is.

channel     definition: its name, or a file NAME.yaml
speed_kmh   0..500; -1: the channel's own
shadowing   'off', 'on' as the definition has it, or a standard deviation, 0 to 20 dB
user        0..63: of two-user, n-user; of the random numbers of all channels
noise_dbfs  over the whole sample rate; -200: none
seed        of fading and noise
control     endpoint (ZeroMQ) at which the channel changes while it runs, as a medium's;
            empty: none

ValueError, in C++ invalid_argument, names parameter, value and range.)";

    static sptr make(const std::string& channel = "jakes", double speed_kmh = -1,
                     const std::string& shadowing = "off", int user = 0, double noise_dbfs = -200,
                     std::uint64_t seed = 1, const std::string& control = "");

    virtual std::uint64_t clipped() const = 0;  // components beyond full scale, sent at it
};

}  // namespace gr::wip
