// SPDX-License-Identifier: GPL-3.0-or-later
// The medium's samples as a radio's receiver gives them: at its own rate and by its own clock, from
// any tick of its master clock on, with its faults. The radio without faults reads the ring as it
// is.
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

    // A run of samples begins at this tick of the master clock.
    void begin(tick master);
    // The number of the next `wanted` samples that are there; none of them come any more after a
    // gap.
    struct state {
        tick there;
        bool gap;
    };
    state look(tick wanted);
    void take(std::span<air::cf32> out);
    void skip(tick samples) noexcept;
    // The first sample behind the gap, as a tick of the master clock; none: it is not known yet.
    std::optional<tick> behind_gap();
    // Consumes what the medium has from before this tick.
    void drain(tick medium);
    // Waits until the medium has released this tick, or reports an event.
    void wait(tick medium, std::chrono::nanoseconds timeout);

    static constexpr tick longest_reach = 128;  // in any case
    // The first tick of the medium that is needed for a sample at this tick of the master clock.
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
    std::optional<sample_model::rate_converter> converter_{};  // none needed: equal rates and grids
    bool converts_ = false;
    tick reach_ = 0;
    analog_filter filter_;
    std::optional<wander_stage> wander_;
    std::optional<tracked_errors> tracked_;
    sample_model::stage_chain faults_;
    tick phase_ = 0;     // of the samples' grid, ticks of the master clock
    tick position_ = 0;  // the next sample
    tick input_ = 0;     // the next one of the ring
    bool fresh_ = true;  // nothing of this run has been read
    std::vector<air::cf32> inputs_;
};

}  // namespace wip::vusrp
