// SPDX-License-Identifier: GPL-3.0-or-later
// The medium's samples as a radio's receiver delivers them: at its own rate and clock, beginning at
// any tick of its master clock, with its impairments. For the ideal radio they are the samples of
// the ring.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "air/receive_queue.h"
#include "sample/rate_converter.h"
#include "sample/stage_chain.h"
#include "vusrp/analog_edge.h"
#include "vusrp/analog_filter.h"
#include "vusrp/node_port.h"
#include "vusrp/radio_model.h"

namespace wip::vusrp {

class sampled_reader {
public:
    sampled_reader(node_port& port, const radio_model& model);

    // Begins a run of samples at this tick of the master clock.
    void begin(tick master);
    // How many of the next `wanted` samples are available, and whether a gap follows them.
    struct state {
        tick there;
        bool gap;
    };
    state look(tick wanted);
    void take(std::span<air::cf32> out);
    void skip(tick samples) noexcept;
    // The tick of the master clock of the first sample after the gap; nullopt: not known yet.
    std::optional<tick> first_after_gap();
    // Discards samples of the medium before this tick.
    void drain(tick medium);
    // Waits until the medium has released this tick, or reports an event.
    void wait(tick medium, std::chrono::nanoseconds timeout);

    static constexpr tick longest_reach = 128;  // upper limit of reach(), ticks of the medium
    // The first and the last tick of the medium that are needed for a sample at this tick of the
    // master clock.
    tick first_tick(tick master) const noexcept {
        return to_medium_.of(master).whole - reach(master);
    }
    tick last_tick(tick master) const noexcept {
        return to_medium_.of(master).whole + reach(master);
    }

private:
    tick reach(tick master) const noexcept {
        return converter_ || master % rate_.divider == 0 ? reach_ : longest_reach;
    }
    tick last_input(tick sample) const {
        return converts_ ? converter_->map().of(sample).whole + converter_->after() : sample;
    }
    air::receive_reader::state ring();

    air::receive_reader reader_;
    exact_rate rate_;
    sample_model::rate_map to_medium_;
    // nullopt: not needed, since rate and grid are those of the medium.
    std::optional<sample_model::rate_converter> converter_{};
    bool converts_ = false;
    tick reach_ = 0;
    analog_filter filter_;
    std::optional<wander_stage> wander_;
    std::optional<tracked_errors> tracked_;
    sample_model::stage_chain faults_;
    tick phase_ = 0;     // offset of the sample grid, in ticks of the master clock
    tick position_ = 0;  // the next sample
    tick input_ = 0;     // the next tick of the ring
    bool fresh_ = true;  // no sample of this run has been read
    std::vector<air::cf32> inputs_;
};

}  // namespace wip::vusrp
