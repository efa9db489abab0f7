// SPDX-License-Identifier: GPL-3.0-or-later
// Impairments one after the other, from a list of their configurations: the same list in a unit
// test, in the medium and in a GNU Radio block.
#pragma once

#include <variant>
#include <vector>

#include "sample/cfo.h"
#include "sample/clock_offset.h"
#include "sample/dc_offset.h"
#include "sample/gain_step.h"
#include "sample/gap.h"
#include "sample/interference.h"
#include "sample/iq_imbalance.h"
#include "sample/phase_noise.h"
#include "sample/quantiser.h"
#include "sample/timing_jump.h"

namespace wip::sample_model {

using impairment_config =
    std::variant<cfo_config, clock_offset_config, timing_jump_config, phase_noise_config,
                 dc_offset_config, iq_imbalance_config, gain_step_config, quantiser_config,
                 gap_config, tone_config, interference_config>;

class stage_chain {
public:
    // Stage i uses the purpose `context.purpose << 8 ^ i`. Throws what the constructors of the
    // stages throw.
    stage_chain(const std::vector<impairment_config>& configs, const stage_context& context);

    void work(std::int64_t first, std::span<const cf32> in, std::span<cf32> out) noexcept;
    std::int64_t memory() const noexcept { return memory_; }
    std::int64_t latency() const noexcept { return latency_; }
    bool empty() const noexcept { return stages_.empty(); }

private:
    using stage = std::variant<cfo, clock_offset, timing_jump, phase_noise, dc_offset, iq_imbalance,
                               gain_step, quantiser, gap, tone, interference>;
    std::vector<stage> stages_;
    std::int64_t memory_ = 0, latency_ = 0;
};

}  // namespace wip::sample_model
