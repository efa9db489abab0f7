// SPDX-License-Identifier: GPL-3.0-or-later
#include "sample/tap_process.h"

#include <cmath>
#include <numbers>

#include "sample/counter_random.h"

namespace wip::sample_model {

tap_processes::tap_processes(const delay_profile& profile, const motion& movement,
                             const stage_context& context, int spacing)
    : movement_(movement), spacing_(spacing), sample_rate_(context.sample_rate) {
    check_profile(profile);
    const std::vector<double> powers = profile.powers();
    for (std::size_t p = 0; p < profile.taps.size(); ++p) {
        const profile_tap& c = profile.taps[p];
        const std::uint32_t purpose = tap_purpose(context.purpose, p);
        const double k = std::pow(10, c.k_db / 10);
        const double direct = c.fading == tap_fading::rayleigh ? 0
                              : c.fading == tap_fading::rice   ? k / (k + 1)
                                                               : 1;
        taps_.push_back({clarke_waves(movement.largest_doppler_hz(), sample_rate_, spacing,
                                      context.seed, purpose),
                         c.delay_s, std::sqrt(powers[p] * (1 - direct)),
                         std::sqrt(powers[p] * direct), c.fading != tap_fading::constant,
                         uniform(0, derive_key(context.seed, purpose ^ 0x4C4F5300u))});
    }
}

clarke_waves::knot tap_processes::evaluate(std::size_t p, std::int64_t knot) const noexcept {
    const tap& t = taps_[p];
    const std::int64_t n = knot * spacing_;
    clarke_waves::knot k{};
    if (t.scattered > 0) {
        k = movement_.constant()
                ? t.waves.evaluate(knot)
                : t.waves.evaluate_at(movement_.wavelengths(n),
                                      movement_.doppler_hz(n) * spacing_ / sample_rate_);
        k.value *= static_cast<float>(t.scattered);
        k.slope *= static_cast<float>(t.scattered);
    }
    if (t.direct > 0) {
        const double turns = (t.moves ? movement_.direct_turns(n) : 0) + t.direct_phase;
        const std::complex<double> w =
            std::polar<double>(t.direct, 2 * std::numbers::pi * (turns - std::floor(turns)));
        const double slope =
            t.moves ? 2 * std::numbers::pi * movement_.direct_hz(n) * spacing_ / sample_rate_ : 0;
        k.value += std::complex<float>(w);
        k.slope += std::complex<float>(std::complex<double>(-slope * w.imag(), slope * w.real()));
    }
    return k;
}

}  // namespace wip::sample_model
