// SPDX-License-Identifier: GPL-3.0-or-later
// Everything that decides what one user's channel is, besides (seed, purpose): taps, movement,
// large-scale gain. Made from a channel definition (profiles/channel_definition.h); the sample
// level and the bin level are built from it.
#pragma once

#include "sample/delay_profile.h"
#include "sample/large_scale.h"
#include "sample/motion.h"

namespace wip::sample_model {

struct channel_config {
    delay_profile profile;
    motion_config movement;
    large_scale_config large_scale;
};

}  // namespace wip::sample_model
