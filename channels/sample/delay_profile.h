// SPDX-License-Identifier: GPL-3.0-or-later
// A power delay profile: delay, mean power and fading of each tap.
#pragma once

#include <string>
#include <vector>

namespace wip::sample_model {

enum class tap_fading { rayleigh, rice, constant, line_of_sight };  // tap_process.h

struct profile_tap {
    double delay_s = 0;
    double power_db = 0;  // mean power; for a Rice tap the sum of line of sight and scattered part
    tap_fading fading = tap_fading::rayleigh;
    double k_db = 0;  // Rice: power of the line of sight over that of the scattered part
};

struct delay_profile {
    std::string name;
    std::vector<profile_tap> taps;

    // Linear powers of the taps, sum 1.
    std::vector<double> powers() const;
    double mean_delay_s() const;
    double rms_delay_spread_s() const;
};

inline constexpr double max_profile_delay_s = 12.5e-6;  // 96 samples
inline constexpr std::size_t max_profile_taps = 64;

// Throws std::invalid_argument naming what is wrong: 1 to 64 taps, delays 0 to 12.5 us, powers -100
// to 100 dB, K -40 to 60 dB.
void check_profile(const delay_profile& profile);

}  // namespace wip::sample_model
