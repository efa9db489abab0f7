// SPDX-License-Identifier: GPL-3.0-or-later
#include "medium/channel_request.h"

#include "profiles/channel_definition.h"

namespace wip::air {

std::string channel_models() {
    std::string valid;
    for (const std::string& name : profiles::names()) valid += name + ", ";
    return valid + "or a file FILE.yaml";
}

shadowing_request read_shadowing(const config::settings& s, const std::string& path) {
    return {.on = s.text(path) != "off", .deviation_db = s.number(path)};
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
