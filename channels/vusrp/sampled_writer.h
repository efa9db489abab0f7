// SPDX-License-Identifier: GPL-3.0-or-later
// A radio's transmitter on the medium: samples at its own rate and clock, with its impairments. A
// burst begins on any tick of the radio's master clock; it fills the medium's ticks from that time
// on, up to the time at which its next sample would follow, so that bursts without a gap between
// them have none on the medium either.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "air/transmit_queue.h"
#include "sample/rate_converter.h"
#include "sample/stage_chain.h"
#include "vusrp/analog_edge.h"
#include "vusrp/analog_filter.h"
#include "vusrp/node_port.h"
#include "vusrp/radio_model.h"

namespace wip::vusrp {

class sampled_writer {
public:
    sampled_writer(node_port& port, const radio_model& model);

    bool is_open() const noexcept { return open_; }
    // Opens a burst at this tick of the radio's master clock. False: the table of bursts is full.
    bool open(tick master_tick, bool hold);
    // Takes as many samples as there is room for, and returns their number.
    std::size_t write(std::span<const air::cf32> in);
    // Whether samples that were taken still wait for room; write({}) tries again.
    bool pending() const noexcept { return open_ && !pending_.empty(); }
    bool wait_room(std::chrono::nanoseconds timeout) { return writer_.wait_room(timeout); }
    // Flushes the filter and closes the burst; returns false if there is no room for its samples
    // yet: call it again.
    bool close();
    void abandon() noexcept;  // closes without flushing

private:
    // Applies impairments, filters and ramp.
    void send_through(std::span<const air::cf32> in, std::span<air::cf32> out);
    // Writes pending samples; returns false if the medium has refused the burst.
    bool publish_pending();
    void start_grid(tick master_tick);

    node_port& port_;
    air::transmit_writer writer_;
    exact_rate rate_;
    // nullopt: not needed, since rate and grid are those of the medium.
    std::optional<sample_model::rate_converter> converter_{};
    bool is_converting_ = false;  // the present burst needs the converter
    analog_filter filter_;
    sample_model::stage_chain faults_;
    std::optional<wander_stage> wander_;
    burst_ramp ramp_;
    bool open_ = false, flushed_ = false;
    tick position_ = 0;     // next sample, at the radio's rate
    tick next_output_ = 0;  // next tick of the medium to compute
    std::vector<air::cf32> scratch_, pending_;
    std::size_t published_ = 0;  // of pending_
};

}  // namespace wip::vusrp
