// SPDX-License-Identifier: GPL-3.0-or-later
#include "sample/stage_chain.h"

#include "sample/tapped_delay_line.h"

namespace wip::sample_model {
namespace {

template <class Config>
struct stage_of;
template <>
struct stage_of<cfo_config> {
    using type = cfo;
};
template <>
struct stage_of<clock_offset_config> {
    using type = clock_offset;
};
template <>
struct stage_of<timing_jump_config> {
    using type = timing_jump;
};
template <>
struct stage_of<phase_noise_config> {
    using type = phase_noise;
};
template <>
struct stage_of<dc_offset_config> {
    using type = dc_offset;
};
template <>
struct stage_of<iq_imbalance_config> {
    using type = iq_imbalance;
};
template <>
struct stage_of<gain_step_config> {
    using type = gain_step;
};
template <>
struct stage_of<quantiser_config> {
    using type = quantiser;
};
template <>
struct stage_of<gap_config> {
    using type = gap;
};
template <>
struct stage_of<tone_config> {
    using type = tone;
};
template <>
struct stage_of<interference_config> {
    using type = interference;
};

static_assert(sample_stage<cfo> && sample_stage<clock_offset> && sample_stage<timing_jump> &&
              sample_stage<phase_noise> && sample_stage<dc_offset> && sample_stage<iq_imbalance> &&
              sample_stage<gain_step> && sample_stage<quantiser> && sample_stage<gap> &&
              sample_stage<tone> && sample_stage<interference> && sample_stage<tapped_delay_line> &&
              sample_stage<stage_chain>);

}  // namespace

stage_chain::stage_chain(const std::vector<impairment_config>& configs,
                         const stage_context& context) {
    stages_.reserve(configs.size());
    for (const impairment_config& any : configs) {
        stage_context own = context;
        own.purpose = context.purpose << 8 ^ static_cast<std::uint32_t>(stages_.size());
        std::visit(
            [&](const auto& config) {
                using type = typename stage_of<std::decay_t<decltype(config)>>::type;
                stages_.emplace_back(std::in_place_type<type>, config, own);
            },
            any);
        std::visit(
            [&](const auto& s) {
                memory_ += s.memory();
                latency_ += s.latency();
            },
            stages_.back());
    }
}

void stage_chain::work(std::int64_t first, std::span<const cf32> in, std::span<cf32> out) noexcept {
    if (stages_.empty()) {
        if (in.data() != out.data()) std::copy(in.begin(), in.end(), out.begin());
        return;
    }
    std::span<const cf32> from = in;
    for (stage& any : stages_) {
        std::visit([&](auto& s) { s.work(first, from, out); }, any);
        from = out;
    }
}

}  // namespace wip::sample_model
