// SPDX-License-Identifier: GPL-3.0-or-later
#include "sample/delay_profile.h"

#include <cmath>

#include "sample/sample_stage.h"

namespace wip::sample_model {

std::vector<double> delay_profile::powers() const {
    std::vector<double> p;
    double sum = 0;
    for (const profile_tap& t : taps) {
        p.push_back(std::pow(10, t.power_db / 10));
        sum += p.back();
    }
    for (double& x : p) x /= sum;
    return p;
}

double delay_profile::mean_delay_s() const {
    const std::vector<double> p = powers();
    double mean = 0;
    for (std::size_t i = 0; i < p.size(); ++i) mean += p[i] * taps[i].delay_s;
    return mean;
}

double delay_profile::rms_delay_spread_s() const {
    const std::vector<double> p = powers();
    const double mean = mean_delay_s();
    double square = 0;
    for (std::size_t i = 0; i < p.size(); ++i)
        square += p[i] * (taps[i].delay_s - mean) * (taps[i].delay_s - mean);
    return std::sqrt(square);
}

void check_profile(const delay_profile& profile) {
    check_range("the number of taps of delay profile " + profile.name,
                static_cast<double>(profile.taps.size()), 1, max_profile_taps);
    for (const profile_tap& t : profile.taps) {
        const std::string where = "delay profile " + profile.name + ": ";
        check_range(where + "delay in us", t.delay_s * 1e6, 0, max_profile_delay_s * 1e6);
        check_range(where + "power_db", t.power_db, -100, 100);
        if (t.fading == tap_fading::rice) check_range(where + "k_db", t.k_db, -40, 60);
    }
}

}  // namespace wip::sample_model
