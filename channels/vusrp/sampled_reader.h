// SPDX-License-Identifier: GPL-3.0-or-later
// The medium's samples as a radio's receiver gives them: at its own rate and by its own clock, with
// its faults, and as late as its transport makes them. Times are samples of that rate. The radio
// without faults reads the ring as it is.
//
// Latency: a packet can be had `latency` plus 0 to `spread` (drawn for each) after its last sample,
// never before the one in front of it; in lockstep by the medium's time, otherwise by the wall
// clock. What is left when a stream has ended can be had at once.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <random>
#include <span>
#include <vector>

#include "air/receive_queue.h"
#include "sample/rate_converter.h"
#include "sample/stage_chain.h"
#include "vusrp/analog_filter.h"
#include "vusrp/node_port.h"
#include "vusrp/radio_model.h"

namespace wip::vusrp {

class sampled_reader {
public:
    using state = air::receive_reader::state;

    sampled_reader(node_port& port, const radio_model& model, tick samples_per_packet);

    // As of air::receive_reader.
    state look();
    bool wait(tick n, std::chrono::nanoseconds timeout);
    void take(std::span<air::cf32> out);

    // Any thread. A command begins at this sample: from which tick on the medium has to fill the
    // ring, and how many of them for so many samples (0: until stopped).
    tick start_tick(tick sample, tick count);
    tick count_ticks(tick sample, tick count) const;
    tick count_ticks_now(tick count);  // of a stream that begins as soon as possible
    tick stop_tick(tick sample) const;
    const exact_rate& rate() const noexcept { return rate_; }

private:
    struct commanded {
        tick start_tick, sample, end;
    };
    void begin(const state& window);
    bool delays() const noexcept { return latency_ + spread_ > 0; }
    tick lag_at(tick sample);
    tick last_input(tick sample) const { return converter_->map().of(sample).whole + after_; }

    node_port& port_;
    air::receive_reader reader_;
    exact_rate rate_;
    std::optional<sample_model::rate_converter> converter_{};  // none: the medium's rate
    tick before_ = 0, after_ = 0;
    analog_filter filter_;
    sample_model::stage_chain faults_;
    tick packet_, latency_, spread_;
    std::minstd_rand random_;
    std::mutex mutex_;  // of what commands say beside a recv()
    std::deque<commanded> commands_;
    tick count_now_ = 0;

    tick window_ = air::never;  // start of the one that is read, of the medium
    tick start_ = 0, position_ = 0, end_ = air::never;
    tick input_ = 0;  // the next one of the ring
    tick lag_packet_ = -1, lag_ = 0;
    std::vector<air::cf32> inputs_;
};

}  // namespace wip::vusrp
