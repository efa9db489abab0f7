// SPDX-License-Identifier: GPL-3.0-or-later
#include "phy/gain_predictor.h"

#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>
#include <vector>

namespace wip::phy {

namespace {

constexpr int max_order = 32;
using cd = std::complex<double>;
using matrix = Eigen::Matrix<cd, Eigen::Dynamic, Eigen::Dynamic, 0, max_order, max_order>;
using vector = Eigen::Matrix<cd, Eigen::Dynamic, 1, 0, max_order, 1>;

void require(bool ok, const char* key, double value, const char* valid) {
    if (!ok)
        throw std::invalid_argument(std::string("gain_predictor: ") + key + " = " +
                                    std::to_string(value) + ", valid: " + valid);
}

}  // namespace

struct gain_predictor::state {
    explicit state(const gain_predictor_config& c)
        : config(c),
          depth(c.horizon + c.order),
          forget(std::exp(-1.0 / c.memory_slots)),
          past(static_cast<std::size_t>(depth * c.points)),
          power(static_cast<std::size_t>(c.points)),
          covariance(matrix::Zero(c.order, c.order)),
          cross(vector::Zero(c.order)),
          weights(vector::Zero(c.order)) {
        weights(0) = 1;
    }

    // Gain of point n, `age` slots before the latest update.
    std::complex<float> at(int age, int n) const {
        const int row = (head + age) % depth;
        return past[static_cast<std::size_t>(row * config.points + n)];
    }

    std::complex<float> predict(int age, int n) const {
        std::complex<float> sum = 0;
        for (int i = 0; i < config.order; ++i)
            sum += std::complex<float>(weights(i)) * at(age + i, n);
        return sum;
    }

    // One step of the recursive normal equations: what was seen now against the past that would
    // have predicted it.
    void learn() {
        const int p = config.order;
        covariance *= forget;
        cross *= forget;
        for (int n = 0; n < config.points; ++n) {
            vector x(p);
            for (int i = 0; i < p; ++i) x(i) = cd(at(config.horizon + i, n));
            covariance.noalias() += x.conjugate() * x.transpose();
            cross.noalias() += x.conjugate() * cd(at(0, n));
        }
    }

    void solve() {
        // The loading keeps the system solvable when the channel stands still without noise; it is
        // far below the noise of any receiver (40 dB below the mean gain would be too much for
        // 256-QAM, 60 dB is not seen).
        const double loading = 1e-6 * covariance.trace().real() / config.order + 1e-30;
        matrix loaded = covariance;
        loaded.diagonal().array() += loading;
        const vector solution = loaded.ldlt().solve(cross);
        if (solution.allFinite()) weights = solution;
    }

    gain_predictor_config config;
    int depth;
    double forget;
    std::vector<std::complex<float>> past;  // ring of `depth` slots, newest at `head`
    std::vector<float> power;
    matrix covariance;
    vector cross;
    vector weights;
    int head = 0;
    int filled = 0;
    int since_solved = 0;
    double residual = 0, residual_weight = 0;  // running |y - y^|^2
    double noise = 0;
};

gain_predictor::gain_predictor(const gain_predictor_config& c) {
    require(c.points >= 1 && c.points <= 500, "points", c.points, "1..500");
    require(c.horizon >= 1 && c.horizon <= 64, "horizon", c.horizon, "1..64 slots");
    require(c.order >= 1 && c.order <= max_order, "order", c.order, "1..32");
    require(c.memory_slots >= 10 && c.memory_slots <= 10000, "memory_slots", c.memory_slots,
            "10..10000 slots");
    require(c.refresh_slots >= 1 && c.refresh_slots <= 1000, "refresh_slots", c.refresh_slots,
            "1..1000 slots");
    state_ = std::make_unique<state>(c);
}

gain_predictor::~gain_predictor() = default;

void gain_predictor::update(std::span<const std::complex<float>> gains,
                            float noise_variance) noexcept {
    auto& s = *state_;
    const int points = s.config.points;
    s.head = (s.head + s.depth - 1) % s.depth;
    std::copy_n(gains.begin(), points, s.past.begin() + s.head * points);
    s.filled = std::min(s.filled + 1, s.depth);
    s.noise += (noise_variance - s.noise) * (s.residual_weight == 0 ? 1.0 : 0.02);

    if (s.filled == s.depth) {
        double squared = 0;
        for (int n = 0; n < points; ++n)
            squared += std::norm(s.at(0, n) - s.predict(s.config.horizon, n));
        s.residual = s.residual * s.forget + squared / points;
        s.residual_weight = s.residual_weight * s.forget + 1;
        s.learn();
        if (++s.since_solved >= s.config.refresh_slots) {
            s.since_solved = 0;
            s.solve();
        }
    }
    const float error = error_variance();
    const bool ready = s.filled == s.depth;
    for (int n = 0; n < points; ++n) {
        const auto h = ready ? s.predict(0, n) : s.at(0, n);
        s.power[static_cast<std::size_t>(n)] =
            ready ? std::norm(h) + error : std::max(0.0F, std::norm(h) - noise_variance);
    }
}

float gain_predictor::predicted_power(int n) const noexcept {
    return state_->power[static_cast<std::size_t>(n)];
}

float gain_predictor::error_variance() const noexcept {
    const auto& s = *state_;
    if (s.residual_weight == 0) return 0;
    return static_cast<float>(std::max(0.0, s.residual / s.residual_weight - s.noise));
}

void gain_predictor::reset() noexcept { state_->filled = 0; }

}  // namespace wip::phy
