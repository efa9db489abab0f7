// SPDX-License-Identifier: GPL-3.0-or-later
// A radio's transmitter on the medium: samples at its own rate and by its own clock, with its
// faults. Times are samples of that rate. A burst that begins at sample n fills the ticks from p(n)
// on and ends before p(end): bursts that touch each other do so on the medium as well.
#pragma once

#include <optional>
#include <random>
#include <span>
#include <vector>

#include "air/transmit_queue.h"
#include "sample/rate_converter.h"
#include "sample/stage_chain.h"
#include "vusrp/analog_filter.h"
#include "vusrp/node_port.h"
#include "vusrp/radio_model.h"

namespace wip::vusrp {

class sampled_writer {
public:
    using outcome = air::transmit_writer::outcome;

    sampled_writer(node_port& port, const radio_model& model);

    bool is_open() const noexcept { return open_; }
    // Sample after the last one that was written, if the burst has a time of its own.
    tick end_time() const noexcept;
    // false: the table of bursts is full. Late is what the medium would get too late after the
    // transport's latency.
    bool open(tick sample_or_asap, bool hold);
    // Takes what there is room for. starved, late: the burst has been refused.
    struct taken {
        outcome what;
        std::size_t samples;
    };
    taken write(std::span<const air::cf32> in);
    // Of what has been taken some still waits for room: write nothing to push it on.
    bool pending() const noexcept { return open_ && !pending_.empty(); }
    bool wait_room(std::chrono::nanoseconds timeout) { return writer_.wait_room(timeout); }
    // What the filter still holds goes out; false: no room for it yet, ask again.
    bool close();
    void abandon() noexcept;  // close without that
    const exact_rate& rate() const noexcept { return rate_; }

private:
    outcome publish_pending();

    node_port& port_;
    air::transmit_writer writer_;
    exact_rate rate_;
    std::optional<sample_model::rate_converter> converter_{};
    analog_filter filter_;
    sample_model::stage_chain faults_;
    tick latency_, spread_;
    std::minstd_rand random_;
    bool open_ = false, timed_ = false, flushed_ = false;
    tick position_ = 0;  // of the radio, next sample
    tick output_ = 0;    // of the medium, next tick to compute
    std::vector<air::cf32> scratch_, pending_;
    std::size_t published_ = 0;  // of pending_
};

}  // namespace wip::vusrp
