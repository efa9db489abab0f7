// SPDX-License-Identifier: GPL-3.0-or-later
#include "medium/channel_request.h"

#include "profiles/channel_definition.h"
#include "sample/clarke_waves.h"

namespace wip::air {

using profiles::place;

std::string channel_models() {
    std::string valid;
    for (const std::string& name : profiles::names()) valid += name + ", ";
    return valid + "or a file FILE.yaml";
}

channel_request read_request(const place& p) {
    channel_request r;
    if (const place v = p.at("delay_spread_ns"); v.given()) r.delay_spread_ns = v.number(1, 12500);
    if (const place v = p.at("doppler_hz"); v.given())
        r.doppler_hz = v.number(0, sample_model::max_doppler_hz);
    if (const place v = p.at("speed_kmh"); v.given()) {
        if (r.doppler_hz) v.refuse("none beside doppler_hz");
        r.speed_kmh = v.number(0, 500);
    }
    if (const place v = p.at("carrier_hz"); v.given()) r.carrier_hz = v.number(1e8, 1e10);
    if (const place v = p.at("shadowing"); v.given()) r.shadowing = read_shadowing(v);
    return r;
}

shadowing_request read_shadowing(const place& v) {
    const std::string t = v.text("on, off, or a standard deviation of 0 to 20 dB");
    if (t == "on" || t == "true") return {.on = true};
    if (t == "off" || t == "false") return {};
    return {.on = true, .deviation_db = v.number(0, 20, " dB, on or off")};
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
