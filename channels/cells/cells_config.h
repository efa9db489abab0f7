// SPDX-License-Identifier: GPL-3.0-or-later
// The parameters of a layout of WCDMA cells and of its users (docs/explanation/wcdma-cells.md). The
// defaults are those of Smaragdakis (2006); the page says which of them his slides leave open.
#pragma once

#include <cstdint>

#include "types/setting_limits.h"

namespace wip::cells {

// The direction whose SIR is computed: from the users to the base stations, or from the base
// stations to the users.
enum class direction : std::uint8_t { uplink, downlink };

struct cells_config {
    int cells = setting::cells_count.initial;
    bool wrap = false;  // the layout repeats itself beyond its edges
    double side_m = setting::cells_side_m.initial;
    int users = 1;
    int carriers = setting::cells_carriers.initial;  // user n has carrier n mod carriers
    int spreading = setting::cells_spreading.initial;
    direction of = direction::uplink;
    double orthogonality = setting::cells_orthogonality.initial;  // factor of own-cell interference

    double path_exponent = setting::cells_path_exponent.initial;
    double path_gain_db = setting::cells_path_gain_db.initial;  // at 1 m
    double shadowing_db = setting::cells_shadowing_db.initial;  // standard deviation
    double shadowing_m = setting::cells_shadowing_m.initial;    // correlation distance
    double doppler_hz = setting::cells_doppler_hz.initial;
    int rays = setting::cells_rays.initial;
    int oscillators = setting::cells_oscillators.initial;
    double noise_dbw = setting::cells_noise_dbw.initial;

    double power_dbw = setting::cells_power_dbw.initial;  // highest transmit power
    double power_range_db = setting::cells_power_range_db.initial;
    double step_db = setting::cells_step_db.initial;
    int loop_slots = setting::cells_loop_slots.initial;
    // Power goes up while the SIR is below target_low_db, and down while it is above
    // target_high_db.
    double target_low_db = setting::cells_target_low_db.initial;
    double target_high_db = setting::cells_target_high_db.initial;

    // The SIR of a block is the mean of its slots, or their exponential effective SIR (EESM):
    // -beta ln(mean of exp(-SIR / beta)), linear. 0: the mean, which is that of an infinite beta.
    double eesm_beta = setting::cells_eesm_beta.initial;
    // A block is lost with probability 1/2 where its SIR is `margin_db` below the middle of both
    // targets, and with that of a normal distribution of standard deviation `curve_db` elsewhere.
    double margin_db = setting::cells_margin_db.initial;
    double curve_db = setting::cells_curve_db.initial;

    double speed_kmh = setting::cells_speed_kmh.initial;      // users move on straight lines
    double handover_db = setting::cells_handover_db.initial;  // hysteresis

    void check() const;  // throws std::invalid_argument naming key, value and what would be valid
    bool operator==(const cells_config&) const = default;
};

inline constexpr int slots_per_second = 1500;
inline constexpr int block_slots = 15;  // 10 ms
inline constexpr std::int64_t block_ns = 10'000'000;

}  // namespace wip::cells
