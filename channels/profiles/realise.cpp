// SPDX-License-Identifier: GPL-3.0-or-later
// Makes one user's channel from a definition; everything that depends on the seed alone (speed,
// waypoints) is drawn here.
#include <cmath>
#include <numbers>
#include <stdexcept>

#include "profiles/channel_definition.h"
#include "sample/clarke_waves.h"
#include "sample/counter_random.h"
#include "sample/sample_stage.h"
#include "types/one_line.h"

namespace wip::profiles {
namespace {

using namespace sample_model;

constexpr std::uint32_t motion_purpose = 0x4D4F0000;

waypoint_track random_track(const random_user_area& area, std::uint64_t seed, std::size_t user) {
    const std::uint32_t key = derive_key(seed, motion_purpose ^ static_cast<std::uint32_t>(user));
    std::uint64_t counter = 0;
    const auto draw = [&] { return uniform(counter++, key); };
    const double speed = (area.slowest_kmh + draw() * (area.fastest_kmh - area.slowest_kmh)) / 3.6;
    waypoint_track track;
    for (int i = 0; i < 2; ++i) {
        const double inner = area.inner_m * area.inner_m, outer = area.outer_m * area.outer_m;
        const double r = std::sqrt(inner + draw() * (outer - inner));
        const double angle = 2 * std::numbers::pi * draw();
        track.points.push_back({r * std::cos(angle), r * std::sin(angle), speed});
    }
    return track;
}

double constant_doppler(const channel_definition& d, const channel_choice& choice, double carrier,
                        std::uint64_t seed) {
    if (choice.doppler_hz) {
        sample_model::check_doppler(*choice.doppler_hz, carrier);
        return *choice.doppler_hz;
    }
    const std::uint32_t key =
        derive_key(seed, motion_purpose ^ static_cast<std::uint32_t>(choice.user));
    const double speed_kmh = choice.speed_kmh.value_or(
        d.speed.lowest_kmh + uniform(0, key) * (d.speed.highest_kmh - d.speed.lowest_kmh));
    check_range("speed_kmh", speed_kmh, 0, 500);
    const double hz = speed_kmh / 3.6 * carrier / speed_of_light;
    sample_model::check_doppler(hz, carrier);
    return hz;
}

}  // namespace

channel_config realise(const channel_definition& d, const channel_choice& choice,
                       std::uint64_t seed) {
    channel_config c{.profile = d.profile, .movement = {}, .large_scale = {}};
    const double carrier = choice.carrier_hz.value_or(d.carrier_hz);
    check_range("carrier_hz", carrier, lowest_carrier_hz, highest_carrier_hz);
    c.movement.carrier_hz = carrier;
    if (choice.user >= d.nof_users() && (d.random_users || !d.users.empty()))
        throw std::invalid_argument(one_line("user of channel " + d.name + " is " +
                                             std::to_string(choice.user) + "; valid: 0.." +
                                             std::to_string(d.nof_users() - 1)));
    if (d.own_motion() && (choice.speed_kmh || choice.doppler_hz))
        throw std::invalid_argument(
            one_line("a speed is given for channel " + d.name +
                     ", which moves by its own definition; valid: no speed"));
    if (d.train)
        c.movement.path = *d.train;
    else if (d.random_users)
        c.movement.path = random_track(*d.random_users, seed, choice.user);
    else if (!d.users.empty())
        c.movement.path = d.users[choice.user].track;
    else
        c.movement.path = constant_speed{constant_doppler(d, choice, carrier, seed)};

    using use = channel_choice::use;
    if (choice.shadowing_db ||
        (choice.shadowing == use::as_defined ? d.shadowing_default : choice.shadowing == use::on)) {
        c.large_scale.shadowing = d.shadowing.value_or(shadowing_config{});
        if (choice.shadowing_db) c.large_scale.shadowing->deviation_db = *choice.shadowing_db;
        check_range("shadowing_db", c.large_scale.shadowing->deviation_db, 0, 20);
    }
    c.large_scale.path_loss = d.path_loss;
    c.large_scale.attenuator = d.attenuator;
    c.large_scale.blackouts = d.blackouts;
    return c;
}

}  // namespace wip::profiles
