// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/model/level_points.h"

#include <cmath>

namespace wip::gui {
std::optional<fader_point> level_point(std::int64_t slot, const openwip::control::AirStatus& a) {
    if (a.fader_paths_size() == 0) return {};
    fader_point p{slot, dbfs(NAN), dbfs(NAN), a.clipped(), a.lost_samples()};
    // with several paths, what lies between the two levels belongs to one of them only
    const auto& path = a.fader_paths(0);
    for (const auto& node : a.fader_nodes()) {
        if (node.name() == path.from() && node.has_input_dbfs()) p.input = dbfs(node.input_dbfs());
        if (node.name() == path.to() && node.has_output_dbfs()) p.output = dbfs(node.output_dbfs());
    }
    return p;
}

std::optional<attenuator_point> level_point(std::int64_t slot,
                                            const openwip::control::AttenuatorStatus& a) {
    attenuator_point p{slot, {}};
    p.level_db.fill(NAN);
    if (a.channels_size() != a.levels_db_size()) return {};
    for (int i = 0; i < a.channels_size(); ++i) {
        const std::size_t channel = a.channels(i);
        if (channel < 1 || channel > p.level_db.size() || !std::isfinite(a.levels_db(i))) return {};
        p.level_db[channel - 1] = static_cast<float>(a.levels_db(i));
    }
    return p;
}

}  // namespace wip::gui
