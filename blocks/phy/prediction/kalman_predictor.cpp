// SPDX-License-Identifier: GPL-3.0-or-later
// Kalman filter per bin on an autoregressive model of Clarke's process.
//
//     x[j] = sum_m a_m x[j-m] + u,  m = 1..16,     h[j] = x[j] + n,
// a from Yule and Walker's equations with the correlation J0(2 pi f k), 1e-5 added at k = 0 (the
// spectrum of Clarke's process ends sharply, so that the equations are nearly singular). f and the
// carrier offset come from doppler_search.h. The state is the last 16 values. All bins have the
// same model and noise, so one covariance and one gain serve all; a bin has a state of its own.
// The forecast is the state times the first row of the model's transition to the power `horizon`.
// A slot that was not measured is a step without an observation. After more than four in a row the
// Doppler search pauses.
//
// Powers are relative to the mean power of the bins. Above a model order of 16 the covariance would
// have to be kept in double precision with a square root; here symmetry is enforced instead.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <vector>

#include "phy/prediction/doppler_search.h"
#include "phy/prediction/predictors.h"

namespace wip::phy {
namespace {

constexpr double loading = 1e-5;
constexpr int longest_bridge = 4;  // slots
constexpr double two_pi = 2 * std::numbers::pi;

bin_gains turned(const bin_gains& g, double radians) noexcept {
    const auto c = static_cast<float>(std::cos(radians));
    const auto s = static_cast<float>(std::sin(radians));
    bin_gains out;
    for (std::size_t b = 0; b < bin_gains::padded; ++b) {
        out.re[b] = g.re[b] * c - g.im[b] * s;
        out.im[b] = g.re[b] * s + g.im[b] * c;
    }
    return out;
}

class kalman_predictor final : public gain_predictor {
public:
    explicit kalman_predictor(int horizon) : horizon_(horizon), models_(nof_dopplers) {
        for (int d = 0; d < nof_dopplers; ++d) {
            std::array<double, order + 1> r;
            clarke_correlation(doppler_at(doppler_index{d}), r.data(), static_cast<int>(order + 1));
            r[0] += loading;
            auto& m = models_[static_cast<std::size_t>(d)];
            solve_toeplitz(r.data(), r.data() + 1, m.a.data(), static_cast<int>(order));
            m.innovation = r[0];
            for (std::size_t i = 0; i < order; ++i) m.innovation -= m.a[i] * r[i + 1];
            m.innovation = std::max(m.innovation, 1e-9);
            auto g = m.a;
            for (int h = 1; h < horizon; ++h) {
                const double first = g[0];
                for (std::size_t i = 0; i < order; ++i)
                    g[i] = first * m.a[i] + (i + 1 < order ? g[i + 1] : 0.0);
            }
            for (std::size_t i = 0; i < order; ++i) m.ahead[i] = static_cast<float>(g[i]);
        }
        reset();
    }

    void reset() noexcept override {
        search_.reset();
        forget();
        power_ = noise_ = phase_ = offset_ = 0;
        seen_ = 0;
        skipped_ = 0;
    }

    bool update(const gain_sample& now, bin_gains& ahead) noexcept override {
        search_.update(now);
        skipped_ = 0;
        const auto power = static_cast<double>(power_of(now.gain));
        ++seen_;
        const double weight = std::max(1.0 / static_cast<double>(seen_), 1.0 / 256);
        noise_ += weight * (static_cast<double>(now.error) - noise_);
        power_ +=
            weight * (std::max(0.0, power / nof_bins - static_cast<double>(now.error)) - power_);
        step();
        observe(now);
        if (!search_.ready()) {
            forget();  // there is no model yet
            return false;
        }
        retune();
        if (++modelled_ < 2 * static_cast<std::int64_t>(order)) return false;
        const auto& m = models_[static_cast<std::size_t>(search_.doppler())];
        bin_gains sum;
        for (std::size_t i = 0; i < order; ++i)
            for (std::size_t b = 0; b < bin_gains::padded; ++b) {
                sum.re[b] += m.ahead[i] * state_[i].re[b];
                sum.im[b] += m.ahead[i] * state_[i].im[b];
            }
        ahead = turned(sum, phase_ + offset_ * horizon_);
        return true;
    }

    void skip() noexcept override {
        step();
        gain_sample expected;
        expected.gain = turned(state_[0], phase_);
        expected.error = static_cast<float>(noise_);
        if (++skipped_ > longest_bridge)
            search_.skip();
        else
            search_.update(expected);
    }

private:
    static constexpr std::size_t order = 16;
    struct model {
        std::array<double, order> a{};
        std::array<float, order> ahead{};  // first row of the transition to the power `horizon`
        double innovation = 1;             // variance of u for a process of power 1
    };
    void forget() noexcept {
        state_.fill({});
        for (std::size_t i = 0; i < order; ++i) {
            covariance_[i].fill(0);
            covariance_[i][i] = 1;
        }
        modelled_ = 0;
    }

    // Advances by one slot without an observation.
    void step() noexcept {
        const auto& m = models_[static_cast<std::size_t>(search_.doppler())];
        std::array<double, order> v{};
        double first = m.innovation;
        for (std::size_t i = 0; i < order; ++i)
            for (std::size_t k = 0; k < order; ++k) v[k] += m.a[i] * covariance_[i][k];
        for (std::size_t k = 0; k < order; ++k) first += v[k] * m.a[k];
        for (std::size_t i = order - 1; i > 0; --i)
            for (std::size_t k = order - 1; k > 0; --k)
                covariance_[i][k] = covariance_[i - 1][k - 1];
        covariance_[0][0] = first;
        for (std::size_t k = 1; k < order; ++k) covariance_[0][k] = covariance_[k][0] = v[k - 1];
        bin_gains next;
        for (std::size_t i = 0; i < order; ++i) {
            const auto a = static_cast<float>(m.a[i]);
            for (std::size_t b = 0; b < bin_gains::padded; ++b) {
                next.re[b] += a * state_[i].re[b];
                next.im[b] += a * state_[i].im[b];
            }
        }
        for (std::size_t i = order - 1; i > 0; --i) state_[i] = state_[i - 1];
        state_[0] = next;
        phase_ = std::remainder(phase_ + offset_, two_pi);
    }

    void observe(const gain_sample& now) noexcept {
        const double noise = std::max(noise_ / (power_ + 1e-30), 1e-6);
        const double all = covariance_[0][0] + noise;
        std::array<double, order> gain;
        for (std::size_t i = 0; i < order; ++i) gain[i] = covariance_[i][0] / all;
        bin_gains innovation = turned(now.gain, -phase_);
        for (std::size_t b = 0; b < bin_gains::padded; ++b) {
            innovation.re[b] -= state_[0].re[b];
            innovation.im[b] -= state_[0].im[b];
        }
        for (std::size_t i = 0; i < order; ++i) {
            const auto g = static_cast<float>(gain[i]);
            for (std::size_t b = 0; b < bin_gains::padded; ++b) {
                state_[i].re[b] += g * innovation.re[b];
                state_[i].im[b] += g * innovation.im[b];
            }
        }
        for (std::size_t i = 0; i < order; ++i)
            for (std::size_t k = 0; k < order; ++k) covariance_[i][k] -= gain[i] * gain[k] * all;
        for (std::size_t i = 0; i < order; ++i)
            covariance_[i][i] = std::max(covariance_[i][i], 1e-12);
    }

    // Applies a new carrier offset of the search to all states, as if it had been known all along.
    void retune() noexcept {
        const double change = search_.offset() - offset_;
        if (change == 0) return;
        offset_ = search_.offset();
        for (std::size_t i = 0; i < order; ++i)
            state_[i] = turned(state_[i], change * static_cast<double>(i));
    }

    int horizon_;
    std::vector<model> models_;  // by Doppler frequency
    doppler_search search_;
    std::array<bin_gains, order> state_;  // newest first, carrier offset taken out
    std::array<std::array<double, order>, order> covariance_;
    double power_ = 0, noise_ = 0;
    double phase_ = 0, offset_ = 0;
    std::int64_t seen_ = 0, modelled_ = 0;  // slots; with a model
    int skipped_ = 0;                       // slots in a row
};

}  // namespace

std::unique_ptr<gain_predictor> make_kalman_predictor(int horizon) {
    return std::make_unique<kalman_predictor>(horizon);
}

}  // namespace wip::phy
