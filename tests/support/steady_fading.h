// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "bin/fading_channel.h"
#include "types/db.h"

namespace wip::bin_model {

// A profile at one Doppler shift, nothing else.
inline fading_config steady_fading(const sample_model::delay_profile& profile, double doppler_hz,
                                   db mean_snr, std::uint64_t seed, std::uint32_t purpose = 0) {
    return {.channel = {.profile = profile,
                        .movement = {.path = sample_model::constant_speed{doppler_hz}},
                        .large_scale = {}},
            .mean_snr_db = mean_snr.value,
            .seed = seed,
            .purpose = purpose};
}

}  // namespace wip::bin_model
