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
inline constexpr float noise_variance = 0.0251F;  // 16 dB

// directional: from within 60 degrees to both sides of 40 degrees from the direction of movement.
// two_clusters: the first three paths from within 25 degrees of 30, all others of 130.
enum class spectrum { clarke, flat, line_of_sight, directional, two_clusters };

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
                const double place = (w + turned) / waves;
                const double shift = shift_of(kind, p, place);
                path.waves.push_back(
                    {shift, std::polar(std::sqrt(power / waves), two_pi * uniform()), 1});
            }
        }
        if (sight)
            paths_[0].waves.push_back(
                {0.7, std::polar(std::sqrt(10 / 11.0), two_pi * uniform()), 1});
    }
    // One slot at this Doppler frequency. `level_db` is added to the whole band.
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
        m.noise = noise_variance;
        m.gain_noise = noise_variance / 12;
        for (std::size_t b = 0; b < nof_bins; ++b) {
            truth[b] = std::norm(h[b]) / double{noise_variance};
            m.gain[b] = cf32(h[b] + cf64(normal_(random_), normal_(random_)));
            m.power[b] = std::norm(m.gain[b]);
        }
        return m;
    }
    std::array<double, nof_bins> truth{};

    // The exact channel: the gain of bin b is the sum over the paths of a process times
    // over_bins[b]; the correlation of that process over a number of slots is E conj(a(t)) a(t +
    // slots).
    std::size_t nof_paths() const { return paths_.size(); }
    const std::array<cf64, nof_bins>& over_bins(std::size_t path) const {
        return paths_[path].over_bins;
    }
    cf64 correlation(std::size_t path, double slots, double doppler_hz) const {
        cf64 sum{};
        for (const auto& w : paths_[path].waves)
            sum += std::norm(w.now) *
                   std::polar(1.0, two_pi * w.shift * doppler_hz * slots / slots_per_second);
        return sum;
    }

private:
    static constexpr int waves = 40;
    // Doppler shift over the largest one, of the wave at `place` from 0 to 1 among those of path p.
    static double shift_of(spectrum kind, std::size_t p, double place) {
        const auto within = [place](double degrees, double around) {
            return std::cos(two_pi / 360 * (around + degrees * (2 * place - 1)));
        };
        switch (kind) {
            case spectrum::flat:
                return 2 * place - 1;
            case spectrum::directional:
                return within(60, 40);
            case spectrum::two_clusters:
                return p < 3 ? within(25, 30) : within(25, 130);
            case spectrum::clarke:
            case spectrum::line_of_sight:
                break;
        }
        return std::cos(two_pi * place);
    }
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
    std::normal_distribution<> normal_{0, std::sqrt(double{noise_variance} / 12 / 2)};
    double doppler_ = -1;
};

}  // namespace wip::phy::test
