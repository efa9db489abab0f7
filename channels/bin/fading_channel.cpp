// SPDX-License-Identifier: GPL-3.0-or-later
#include "bin/fading_channel.h"

#include <algorithm>
#include <cmath>

#include "types/db.h"

namespace wip::bin_model {

using namespace sample_model;

namespace {

constexpr double rate = static_cast<double>(sample_rate_hz);

stage_context context_of(const fading_config& c) { return {rate, c.seed, c.purpose}; }

}  // namespace

motion motion_of(const fading_config& c) { return motion(c.channel.movement, rate); }

slot_gain::slot_gain(const fading_config& c)
    : large_scale_(c.channel.large_scale, motion_of(c), context_of(c)),
      steady_(large_scale_.empty()),
      blackouts_(!c.channel.large_scale.blackouts.empty()),
      mean_snr_(static_cast<float>(db(c.mean_snr_db).power())) {
    kept_.fill({slot(INT64_MIN), 0.0F});
    check_range("mean_snr_db", c.mean_snr_db, lowest_snr_db, highest_snr_db);
}

float slot_gain::at(slot s) noexcept {
    if (steady_) return mean_snr_;
    auto& [of, kept] = kept_[static_cast<std::size_t>(s.value) % kept_.size()];
    if (of == s) return kept;
    of = s;
    const std::int64_t first = first_sample(s).value;
    double gain = large_scale_.slow(first + slot_samples / 2).power();
    if (blackouts_) {
        double sum = 0;
        for (int l = 0; l < symbols_per_slot; ++l)
            sum += large_scale_.blackout(first + symbol_middle(l)).power();
        gain *= sum / symbols_per_slot;
    }
    return kept = mean_snr_ * static_cast<float>(gain);
}

fading_channel::fading_channel(const fading_config& c)
    : response_(c.channel.profile, motion_of(c).largest_doppler_hz()),
      taps_(c.channel.profile, motion_of(c), context_of(c)),
      gain_(std::make_shared<slot_gain>(c)) {}

void fading_channel::snr_and_gain(slot s, std::span<float, nof_bins> linear,
                                  std::span<cf32> gain) noexcept {
    std::fill(linear.begin(), linear.end(), 0.0f);
    std::fill(gain.begin(), gain.end(), cf32{});
    alignas(64) float re[max_profile_taps], im[max_profile_taps];
    for (const bin_response::instant& t : response_.instants()) {
        taps_.at(first_sample(s).value + t.sample, re, im);
        response_.add(re, im, t.weight, linear, gain);
    }
    const float large = gain_->at(s);
    for (float& g : linear) g *= large;
    for (cf32& h : gain) h *= std::sqrt(large);
}

}  // namespace wip::bin_model
