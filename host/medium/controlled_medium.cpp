// SPDX-License-Identifier: GPL-3.0-or-later
#include "medium/controlled_medium.h"

#include <sstream>

#include "runtime/pacing_status.h"

namespace wip::air {

namespace {

const char* clock_of(const medium_config& config) {
    return config.clock == clock_kind::lockstep ? "lockstep" : "realtime";
}

}  // namespace

std::string what_holds(const medium_config& config) {
    std::ostringstream yaml;
    yaml.precision(10);
    yaml << "air:\n  name: " << config.name << "\n  clock: " << clock_of(config)
         << "\n  speed: " << config.speed << "\n  seed: " << config.seed
         << "\n  pacing_limit_ms: " << config.pacing_limit_ms << "\n";
    return yaml.str();
}

controlled controlled_medium(const medium_config& config, medium& m) {
    const auto fill = [&m, config](openwip::control::AirStatus& a) {
        const medium_status s = m.status();
        a.set_clock(clock_of(config));
        a.set_speed(config.speed);
        a.set_now(s.now);
        a.set_wall_seconds(s.wall_seconds);
        a.set_real_time_factor(s.real_time_factor);
        host::fill_pacing(a, s.pacing, config.pacing_limit_ms);
        a.set_late(s.late);
        a.set_underflows(s.underflows);
        a.set_overflows(s.overflows);
        a.set_packets_at_wrong_time(s.packets_at_wrong_time);
        for (const node_status& n : s.nodes) {
            auto& node = *a.add_nodes();
            node.set_name(n.name);
            node.set_process(static_cast<std::uint64_t>(n.process));
            node.set_transmits(n.transmits);
            node.set_receives(n.receives);
            node.set_refused(n.refused);
        }
    };
    return {config.control,
            config,
            what_holds(config),
            fill,
            [&m] { m.reset_counters(); },
            [&m](mix::mixer_changes c) { return m.change(std::move(c)); },
            config.fader};
}

}  // namespace wip::air
