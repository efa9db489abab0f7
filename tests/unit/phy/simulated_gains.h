// SPDX-License-Identifier: GPL-3.0-or-later
// Gains of the bins on typical urban for tests of the predictors: paths of 40 waves each, the
// Doppler frequency and the spectrum as wanted, white estimation error as of 12 known elements of a
// bin at 16 dB. The truth is kept.
#pragma once

#include <array>
#include <cmath>
#include <complex>
#include <numbers>
#include <random>
#include <vector>

#include "phy/prediction/snr_predictor.h"

namespace wip::phy::test {

using cf64 = std::complex<double>;

inline constexpr double two_pi = 2 * std::numbers::pi;
inline constexpr float noise = 0.0251F;  // 16 dB

enum class spectrum { clarke, flat, line_of_sight };

class gains {
public:
    gains(unsigned seed, spectrum kind = spectrum::clarke) : random_(seed) {
        constexpr std::array<double, 10> delay{0, 0.2, 0.6, 0.8, 1.2, 1.4, 1.6, 1.8, 2.0, 2.2};
        constexpr std::array<double, 10> db{-5.7,     -7.6,     -4.4428,  -13.4,    -13.5793,
                                            -14.2371, -14.4794, -16.9543, -20.0164, -24.3};
        const auto uniform = [&] { return std::uniform_real_distribution<>(0, 1)(random_); };
        const bool sight = kind == spectrum::line_of_sight;  // 10 dB above all the rest
        double all = 0;
        for (const double d : db) all += std::pow(10, d / 10);
        if (sight) all *= 11;
        for (std::size_t p = 0; p < db.size(); ++p) {
            auto& path = paths_.emplace_back();
            for (std::size_t b = 0; b < nof_bins; ++b)
                path.over_bins[b] = std::polar(
                    1.0, -two_pi * 0.2 * (static_cast<double>(b) - 12) * (delay[p] - 0.8));
            const double power = std::pow(10, db[p] / 10) / all;
            const double turned = uniform();
            for (int w = 0; w < waves; ++w) {
                const double shift = kind == spectrum::flat
                                         ? 2 * (w + turned) / waves - 1
                                         : std::cos(two_pi * (w + turned) / waves);
                path.waves.push_back(
                    {shift, std::polar(std::sqrt(power / waves), two_pi * uniform()), 1});
            }
        }
        if (sight)
            paths_[0].waves.push_back(
                {0.7, std::polar(std::sqrt(10 / 11.0), two_pi * uniform()), 1});
    }
    // One slot at this Doppler frequency, the whole band by so much stronger.
    bin_measurement next(double doppler_hz, double offset_hz = 0, double level_db = 0) {
        bin_measurement m;
        std::array<cf64, nof_bins> h{};
        for (auto& p : paths_) {
            cf64 tap{};
            for (auto& w : p.waves) {
                if (doppler_hz != doppler_)
                    w.step = std::polar(
                        1.0, two_pi * (w.shift * doppler_hz + offset_hz) / slots_per_second);
                w.now *= w.step;
                tap += w.now;
            }
            for (std::size_t b = 0; b < nof_bins; ++b) h[b] += tap * p.over_bins[b];
        }
        doppler_ = doppler_hz;
        for (auto& v : h) v *= std::pow(10, level_db / 20);
        m.noise = noise;
        m.gain_noise = noise / 12;
        for (std::size_t b = 0; b < nof_bins; ++b) {
            truth[b] = std::norm(h[b]) / double{noise};
            m.gain[b] = cf32(h[b] + cf64(normal_(random_), normal_(random_)));
            m.power[b] = std::norm(m.gain[b]);
        }
        return m;
    }
    std::array<double, nof_bins> truth{};

private:
    static constexpr int waves = 40;
    struct wave {
        double shift;
        cf64 now, step;
    };
    struct echo {
        std::vector<wave> waves;
        std::array<cf64, nof_bins> over_bins;
    };
    std::vector<echo> paths_;
    std::mt19937_64 random_;
    std::normal_distribution<> normal_{0, std::sqrt(double{noise} / 12 / 2)};
    double doppler_ = -1;
};

}  // namespace wip::phy::test
