// SPDX-License-Identifier: GPL-3.0-or-later
// Channel definitions by name or from a file: one YAML file for every fidelity.
//
//   name: example
//   source: where the numbers come from
//   based_on: jakes            # has the keys that are missing here; a name, or a file beside this
//   carrier_hz: 1.8e9
//   speed_kmh: 75              # or {lowest: 0, highest: 70}: drawn with the seed
//   delay_spread_ns: 30        # only with normalised delays
//   taps:
//     - {delay_ns: 200, power_db: -7.6, fading: rayleigh|rice|constant|line_of_sight, k_db: 10}
//     - {delay: 0.3819, power_db: 0}        # normalised: multiplied by the delay spread
//   shadowing: {spread_db: 4, reading: deviation|variance|innovation, correlation_length_m: 2,
//               pole: 0.74, mean: linear|db, default: on|off}
//   train: {doppler_hz: 1340, speed_kmh: 350, spacing_m: 1000, distance_m: 50}
//   path_loss: {exponent: 3.5, reference_m: 500, minimum_m: 35}
//   users:
//     - {name: near, closed: true, track: [{x_m: 100, y_m: 0, speed_kmh: 30}, ...]}
//   random_users: {inner_m: 50, outer_m: 1000, slowest_kmh: 3, fastest_kmh: 75}
//   blackout: [{start_s: 2, duration_s: 0.2, period_s: 5, depth_db: 100}]
//   attenuator: {step_db: 0.25, tick_ms: 1, headroom_db: 20, range_db: 63.5}
//
// The parts are described in sample/{tap_process,motion,large_scale}.h. `spread_db` is a standard
// deviation or, with `reading: variance`, its square, or with `reading: innovation` the variance of
// the noise that drives the process: that of the process is this variance divided by 1 - pole^2. A
// random user walks or drives to and fro between two points drawn evenly over the ring, at a speed
// drawn evenly. Every key is known, every value checked; errors are one line with file, key, value
// and what is valid.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sample/channel_config.h"

namespace wip::profiles {

using sample_model::delay_profile;

struct speed_range {
    double lowest_kmh = 30, highest_kmh = 30;
};
struct user_track {
    std::string name;
    sample_model::waypoint_track track;
};
struct random_user_area {
    double inner_m = 50, outer_m = 1000, slowest_kmh = 3, fastest_kmh = 75;
};

inline constexpr std::size_t max_random_users = 64;

// The content of a file, with the definition that it is based on.
struct channel_definition {
    std::string name, source;
    std::string text;  // the YAML as used, based_on resolved
    delay_profile profile;
    double carrier_hz = 1.8e9;
    speed_range speed;
    std::optional<sample_model::shadowing_config> shadowing;
    bool shadowing_default = false;  // shadowing is on unless it is switched off
    std::optional<sample_model::passing_train> train;
    std::optional<sample_model::path_loss_config> path_loss;
    std::vector<user_track> users;
    std::optional<random_user_area> random_users;
    std::optional<sample_model::attenuator_config> attenuator;
    std::vector<sample_model::blackout_config> blackouts;

    // Whether the definition describes the motion, so that no speed can be chosen.
    bool own_motion() const { return train || !users.empty() || random_users; }
    std::size_t nof_users() const {
        return random_users ? max_random_users : users.empty() ? 1 : users.size();
    }
};

// The parameters that the user of a definition may choose.
struct channel_choice {
    std::optional<double> speed_kmh{};   // 0 to 500
    std::optional<double> doppler_hz{};  // 0 to 2000, instead of a speed
    std::optional<double> carrier_hz{};
    enum class use { as_defined, on, off } shadowing = use::as_defined;
    std::optional<double> shadowing_db{};  // standard deviation; on
    std::size_t user = 0;
};

// Names of the built-in definitions.
std::vector<std::string> names();

// Throw std::invalid_argument, one line, for an unknown name, a bad file, or a delay spread (ns)
// for a definition whose delays are not normalised.
channel_definition load_definition(const std::string& name_or_file,
                                   std::optional<double> delay_spread_ns = std::nullopt);
channel_definition parse_definition(const std::string& text, const std::string& file_name,
                                    std::optional<double> delay_spread_ns = std::nullopt);

// One user's channel: a function of (definition, choice, seed). Throws std::invalid_argument for a
// choice that the definition does not allow. With the same `seed`, and the user number as
// `purpose`, the bin level and the sample level have the same fading and large-scale gain.
sample_model::channel_config realise(const channel_definition& definition,
                                     const channel_choice& choice, std::uint64_t seed);

// The delay profile alone.
delay_profile load(const std::string& name_or_file,
                   std::optional<double> delay_spread_ns = std::nullopt);
delay_profile parse(const std::string& text, const std::string& file_name,
                    std::optional<double> delay_spread_ns = std::nullopt);

namespace detail {
const std::vector<std::pair<std::string, std::string>>& builtin_texts();
}

}  // namespace wip::profiles
