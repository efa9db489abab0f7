// SPDX-License-Identifier: GPL-3.0-or-later
#include "bin/gain_prediction.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <numbers>
#include <string>

#include "types/db.h"
#include "types/require.h"

namespace wip::bin_model {
namespace {

using namespace sample_model;

constexpr double rate = static_cast<double>(sample_rate_hz);

constexpr double absent_tap_db = -100;  // power of a tap that does not take part

double direct_share(const profile_tap& t) {
    if (t.fading == tap_fading::rayleigh) return 0;
    if (t.fading != tap_fading::rice) return 1;
    const double k = db(t.k_db).power();
    return k / (k + 1);
}

// The profile with only the direct or only the scattered parts of its taps, and their power. All
// taps keep their index, since their random numbers depend on it.
struct part {
    delay_profile profile;
    double power = 0;
};
part part_of(const delay_profile& whole, bool direct) {
    part p{whole, 0};
    const std::vector<double> powers = whole.powers();
    for (std::size_t i = 0; i < powers.size(); ++i) {
        profile_tap& t = p.profile.taps[i];
        const double share = direct ? direct_share(t) : 1 - direct_share(t);
        const double power = powers[i] * share;
        p.power += power;
        if (direct && t.fading == tap_fading::rice) {
            // A Rice tap whose scattered part is negligible. A constant tap would not do: its phase
            // does not turn with the motion.
            t.k_db = 60;
        } else if (!direct) {
            t.fading = tap_fading::rayleigh;
        }
        t.power_db =
            power > 0 ? std::max(absent_tap_db, db::from_power(power).value) : absent_tap_db;
    }
    return p;
}

struct moments {
    double a = 0, b = 0, c = 0;
    double square() const { return 1 + a + b + c; }
};

moments moments_of(const delay_profile& profile, double doppler_hz) {
    const std::vector<double> powers = profile.powers();
    moments m;
    for (std::size_t p = 0; p < powers.size(); ++p) {
        const double d = powers[p] * direct_share(profile.taps[p]);
        m.c -= d * d;
    }
    constexpr int n = subcarriers_per_bin, l = symbols_per_slot;
    for (int dt = 1 - l; dt < l; ++dt) {
        const double turns = doppler_hz * dt / l / static_cast<double>(slots_per_second);
        const double j0 = std::cyl_bessel_j(0.0, 2 * std::numbers::pi * std::abs(turns));
        for (int df = 1 - n; df < n; ++df) {
            const double weight =
                static_cast<double>((n - std::abs(df)) * (l - std::abs(dt))) / (n * n * l * l);
            std::complex<double> r, d;
            for (std::size_t p = 0; p < powers.size(); ++p) {
                const profile_tap& t = profile.taps[p];
                const double share = direct_share(t);
                const double angle = 2 * std::numbers::pi * df * subcarrier_hz(250) * t.delay_s;
                r += std::polar(powers[p] * (1 - share) * j0, angle);
                // The direct path of a Rice tap has 0.7 of the Doppler frequency.
                const double shift = t.fading != tap_fading::constant ? 0.7 * turns : 0;
                d += std::polar(powers[p] * share, angle + 2 * std::numbers::pi * shift);
            }
            m.a += weight * std::norm(r);
            m.b += weight * 2 * (d * std::conj(r)).real();
            m.c += weight * std::norm(d);
        }
    }
    return m;
}

// Returns s, the smaller root of (2s - s^2) A + s B + b s^2 = nmse E g^2 (gain_prediction.h); b is
// the square of the scattered power for a plain prediction, otherwise 0.
double error_share(const fading_config& c, double nmse, prediction_mean mean) {
    const double largest = gain_prediction::largest_nmse(c);
    check_range("prediction NMSE", nmse, 0, 0.5);
    if (nmse > largest)
        throw std::invalid_argument("prediction NMSE is " + text_of(nmse) + ", for which channel " +
                                    c.channel.profile.name + " fades too little; valid: 0.." +
                                    std::to_string(largest));
    if (nmse == 0) return 0;
    const moments m = moments_of(c.channel.profile, motion_of(c).largest_doppler_hz());
    const double half = (2 * m.a + m.b) / 2;
    const double scattered = part_of(c.channel.profile, false).power;
    const double square = (mean == prediction_mean::plain ? scattered * scattered : 0) - m.a;
    const double wanted = nmse * m.square();
    return wanted / (half + std::sqrt(std::max(0.0, half * half + square * wanted)));
}

}  // namespace

double gain_prediction::largest_nmse(const fading_config& c) {
    const moments m = moments_of(c.channel.profile, motion_of(c).largest_doppler_hz());
    return (m.a + m.b) / m.square();
}

gain_prediction::gain_prediction(const fading_config& c, double nmse, slot_count horizon,
                                 const fading_channel* channel, prediction_mean mean)
    : response_(c.channel.profile, motion_of(c).largest_doppler_hz()),
      taps_(c.channel.profile, motion_of(c), {rate, c.seed, c.purpose}),
      gain_(channel != nullptr ? channel->gain() : std::make_shared<slot_gain>(c)),
      horizon_(nmse == 0 ? slot_count(0) : horizon) {
    check_range("horizon_slots", static_cast<double>(horizon.value), 0, 64);
    const double s = error_share(c, nmse, mean);
    if (channel != nullptr) taps_.share_knots(channel->taps());
    if (s == 0) return;
    const part scattered = part_of(c.channel.profile, false),
               direct = part_of(c.channel.profile, true);
    keep_ = static_cast<float>(1 - s);
    error_.emplace(scattered.profile, motion_of(c),
                   stage_context{rate, c.seed, c.purpose ^ 0x500000u});
    error_gain_ = static_cast<float>(std::sqrt(s * (1 - s) * scattered.power));
    if (direct.power > 1e-9) {
        direct_.emplace(direct.profile, motion_of(c), stage_context{rate, c.seed, c.purpose});
        direct_gain_ = static_cast<float>(s * std::sqrt(direct.power));
    }
    if (mean == prediction_mean::unbiased) floor_ = static_cast<float>(s * scattered.power);
}

void gain_prediction::predicted_snr(slot s, std::span<float, nof_bins> linear) noexcept {
    std::fill(linear.begin(), linear.end(), floor_);
    alignas(64) float re[max_profile_taps], im[max_profile_taps];
    alignas(64) float other_re[max_profile_taps], other_im[max_profile_taps];
    const std::size_t taps = taps_.size();
    const auto mix = [&](std::optional<tap_curves>& track, std::int64_t index, float gain) {
        if (!track) return;
        track->at(index, other_re, other_im);
        for (std::size_t p = 0; p < taps; ++p) {
            re[p] += gain * other_re[p];
            im[p] += gain * other_im[p];
        }
    };
    for (const bin_response::instant& t : response_.instants()) {
        const std::int64_t index = first_sample(s).value + t.sample;
        taps_.at(index, re, im);
        for (std::size_t p = 0; p < taps; ++p) {
            re[p] *= keep_;
            im[p] *= keep_;
        }
        mix(direct_, index, direct_gain_);
        mix(error_, index, error_gain_);
        response_.add(re, im, t.weight, linear);
    }
    const float large = gain_->at(s - horizon_);
    for (float& g : linear) g *= large;
}

}  // namespace wip::bin_model
