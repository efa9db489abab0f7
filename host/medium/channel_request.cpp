// SPDX-License-Identifier: GPL-3.0-or-later
#include "medium/channel_request.h"

#include "profiles/channel_definition.h"
#include "types/db.h"
#include "types/grid.h"

namespace wip::air {

std::string channel_models() {
    std::string valid;
    for (const std::string& name : profiles::names()) valid += name + ", ";
    return valid + "a file FILE.yaml, or a trace FILE.h5";
}

std::vector<std::string> path_names(const mix::mix_config& config) {
    std::vector<std::string> names;
    for (std::size_t i = 0; i < config.paths.size(); ++i) {
        const path_config& path = config.paths[i];
        std::size_t number = 1;
        for (std::size_t k = 0; k < i; ++k)
            if (config.paths[k].from == path.from && config.paths[k].to == path.to) ++number;
        names.push_back(config.nodes[path.from].name + ":" + config.nodes[path.to].name +
                        (number == 1 ? "" : ":" + std::to_string(number)));
    }
    return names;
}

dbfs level_at_unit_gain(const mix::node_config& sender, const path_config& path) {
    return dbfs(sender.transmit_dbfs) + db(path.gain_db) +
           db::from_power(double{fft_size} / double{nof_subcarriers});
}

// Shadowing only where asked for: a short run through a few metres of it measures the place, not
// the receiver.
sample_model::channel_config realise(const channel_request& r, std::uint32_t user,
                                     std::uint64_t seed) {
    using use = profiles::channel_choice::use;
    profiles::channel_choice choice;
    choice.doppler_hz = r.doppler_hz;
    choice.speed_kmh = r.speed_kmh;
    choice.carrier_hz = r.carrier_hz;
    choice.shadowing = r.shadowing.on ? use::on : use::off;
    choice.shadowing_db = r.shadowing.deviation_db;
    choice.user = user;
    return profiles::realise(profiles::load_definition(r.model, r.delay_spread_ns), choice, seed);
}

}  // namespace wip::air
