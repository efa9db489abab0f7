// SPDX-License-Identifier: GPL-3.0-or-later
#include "bin/fading_channel.h"

#include <algorithm>
#include <cmath>

#include "types/db.h"

namespace wip::bin_model {

using sample_model::check_range;
using sample_model::max_profile_taps;

fading_channel::fading_channel(const fading_config& c)
    : response_(c.profile, c.doppler_hz),
      taps_(c.profile, c.doppler_hz, {.seed = c.seed, .purpose = c.purpose}),
      mean_snr_(static_cast<float>(db(c.mean_snr_db).power())) {
    check_range("mean_snr_db", c.mean_snr_db, -60, 80);
}

void fading_channel::compute(slot s, std::span<float, nof_bins> linear,
                             std::span<cf32> gain) noexcept {
    std::fill(linear.begin(), linear.end(), 0.0f);
    std::fill(gain.begin(), gain.end(), cf32{});
    alignas(64) float re[max_profile_taps], im[max_profile_taps];
    for (const bin_response::instant& t : response_.instants()) {
        taps_.at(first_sample(s).value + t.sample, re, im);
        response_.add(re, im, t.weight, linear, gain);
    }
    for (float& g : linear) g *= mean_snr_;
}

void fading_channel::snr(slot s, std::span<float, nof_bins> linear) noexcept {
    compute(s, linear, {});
}

void fading_channel::snr_and_gain(slot s, std::span<float, nof_bins> linear,
                                  std::span<cf32, nof_bins> gain) noexcept {
    compute(s, linear, gain);
}

}  // namespace wip::bin_model
