// SPDX-License-Identifier: GPL-3.0-or-later
// Levels on the way through a cable at one moment: at the ends of a fader, of an attenuator.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "schema/control.pb.h"
#include "types/db.h"

namespace wip::gui {

struct fader_point {
    std::int64_t slot = 0;
    dbfs input, output;  // levels at the ends of the fader's first path; NaN: there is none
    std::uint64_t clipped = 0, lost_samples = 0;
};
struct attenuator_point {
    std::int64_t slot = 0;
    // attenuation by channel, from channel 1; NaN: the attenuator has no such channel
    std::array<float, 8> level_db{};
};

// Nothing: there is no fader.
std::optional<fader_point> level_point(std::int64_t slot, const openwip::control::AirStatus& a);
// Nothing: no publisher could have meant it.
std::optional<attenuator_point> level_point(std::int64_t slot,
                                            const openwip::control::AttenuatorStatus& a);

}  // namespace wip::gui
