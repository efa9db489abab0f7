// SPDX-License-Identifier: GPL-3.0-or-later
// The fader's interface to one radio, which a cable connects to a station: its receiver receives
// what the station sends, and its transmitter sends what the station shall receive.
#pragma once

#include <cstdint>
#include <span>

#include "mix/tick.h"

namespace wip::cabled {

class fading_radio {
public:
    struct received {
        enum { samples, lost, nothing } what = nothing;  // lost: an overflow, or a time error
        mix::tick time = 0;                              // time of the first sample
        std::size_t size = 0;
    };
    struct events {
        std::uint64_t late = 0, underflows = 0;
        // The device took no samples for a second, and the rest of the piece was lost.
        std::uint64_t stalls = 0;
    };

    virtual ~fading_radio() = default;
    // Streams begin: samples from `time` on, and a burst that begins there.
    virtual void start(mix::tick time, bool receives, bool transmits) = 0;
    // Waits for at most a tenth of a second; may return fewer samples than out.size().
    virtual received receive(std::span<mix::cf32> out) = 0;
    // Sends samples, the first of which is on the air at `time`, right after the last one of the
    // call before.
    virtual void send(mix::tick time, std::span<const mix::cf32> x) = 0;
    // The transmitter's events since the last call.
    virtual events take_events() = 0;
    virtual mix::tick now() = 0;
    // Ends the streams and the burst; start() may begin them again.
    virtual void stop() {}
};

}  // namespace wip::cabled
