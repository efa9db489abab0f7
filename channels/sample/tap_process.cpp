// SPDX-License-Identifier: GPL-3.0-or-later
#include "sample/tap_process.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "sample/counter_random.h"
#include "types/lanes.h"

namespace wip::sample_model {

tap_processes::tap_processes(const delay_profile& profile, const motion& movement,
                             const stage_context& context, int spacing)
    : movement_(movement), spacing_(spacing), sample_rate_(context.sample_rate) {
    check_profile(profile);
    const std::vector<double> powers = profile.powers();
    std::vector<clarke_waves> waves;
    for (std::size_t p = 0; p < profile.taps.size(); ++p) {
        const profile_tap& c = profile.taps[p];
        const std::uint32_t purpose = tap_purpose(context.purpose, p);
        const double k = std::pow(10, c.k_db / 10);
        const double direct = c.fading == tap_fading::rayleigh ? 0
                              : c.fading == tap_fading::rice   ? k / (k + 1)
                                                               : 1;
        waves.emplace_back(movement.largest_doppler_hz(), sample_rate_, spacing, context.seed,
                           purpose);
        taps_.push_back({c.delay_s, std::sqrt(powers[p] * (1 - direct)),
                         std::sqrt(powers[p] * direct), c.fading != tap_fading::constant,
                         uniform(0, derive_key(context.seed, purpose ^ 0x4C4F5300u))});
    }
    if (std::ranges::none_of(taps_, [](const tap& t) { return t.scattered > 0; })) return;
    for (std::size_t p = 0; p < waves.size(); p += nof_lanes)
        rows_.emplace_back(
            std::span(waves).subspan(p, std::min<std::size_t>(waves.size() - p, nof_lanes)),
            movement.constant());
}

void tap_processes::evaluate(std::int64_t knot, std::span<clarke_waves::knot> out) const noexcept {
    const std::int64_t n = knot * spacing_;
    const bool steady = movement_.constant();
    const double x = steady ? static_cast<double>(knot) : movement_.wavelengths(n);
    const double scale = steady ? 1 : movement_.doppler_hz(n) * spacing_ / sample_rate_;
    clarke_waves::knot* next = out.data();
    for (const clarke_row& row : rows_) {
        row.evaluate(x, static_cast<float>(scale), next);
        next += row.size();
    }
    for (std::size_t p = 0; p < taps_.size(); ++p) {
        const tap& t = taps_[p];
        clarke_waves::knot& k = out[p];
        if (t.scattered <= 0) k = {};
        k.value *= static_cast<float>(t.scattered);
        k.slope *= static_cast<float>(t.scattered);
        if (t.direct > 0) add_direct(t, n, k);
    }
}

void tap_processes::add_direct(const tap& t, std::int64_t n, clarke_waves::knot& k) const noexcept {
    const double turns = (t.direct_moves ? movement_.direct_turns(n) : 0) + t.direct_phase;
    const std::complex<double> w =
        std::polar<double>(t.direct, 2 * std::numbers::pi * (turns - std::floor(turns)));
    const double slope =
        t.direct_moves ? 2 * std::numbers::pi * movement_.direct_hz(n) * spacing_ / sample_rate_
                       : 0;
    k.value += std::complex<float>(w);
    k.slope += std::complex<float>(std::complex<double>(-slope * w.imag(), slope * w.real()));
}

}  // namespace wip::sample_model
