// SPDX-License-Identifier: GPL-3.0-or-later
// h^[j+H] = sum_i c_i h[j-i], i = 0..15, the same c for all bins. c solves the least squares
// problem over the recent past, all 25 bins pooled: Phi c = phi with Phi, phi the correlations of
// [h[j-H], .., h[j-H-15]] with themselves and with h[j], forgotten exponentially (time constant
// 256 slots = 171 ms, where speed and Doppler stay the same). The direct form for lag H (not
// one-step prediction iterated) needs no model of the noise in h: it is in Phi, and neither of the
// Doppler spectrum. Phi moves along its diagonal from slot to slot, so only one column is new.
// Solved again every 16 slots by Cholesky, with the diagonal loaded by 1e-4 of the mean power, and
// by (H/6)^2 times as much beyond six slots: so far ahead there is little to know, and the few
// fades of the window would be fitted instead. In simulation (flat Jakes, gain 36 dB above its
// estimation noise, H = 3) this loses 5 % of NMSE against the same order with known statistics;
// orders 8, 12, 16 reach 0.042, 0.033, 0.027 at 125 Hz.
#include <Eigen/Dense>
#include <algorithm>
#include <complex>
#include <cstdint>
#include <vector>

#include "phy/math/lane_sum.h"
#include "phy/prediction/predictors.h"

namespace wip::phy {
namespace {

constexpr double forget = 1 - 1.0 / 256;
constexpr int solve_every = 16;
constexpr int enough = 64;
constexpr double least_loading = 1e-4;
constexpr double near_slots = 6;
constexpr double least_weight = 1e-3;  // below it older sums are left out

class least_squares_predictor final : public gain_predictor {
public:
    explicit least_squares_predictor(int horizon)
        : horizon_(horizon),
          loading_(least_loading * std::max(1.0, horizon * horizon / (near_slots * near_slots))),
          history_(static_cast<std::size_t>(horizon + order)),
          consecutive_(horizon + order) {}

    void reset() noexcept override {
        std::fill(history_.begin(), history_.end(), bin_gains{});
        run_ = 0;
        learned_ = 0;
        consecutive_ = horizon_ + order;
        correlation_.fill({});
        before_.fill({});
        begin_.fill({});
        before_weight_ = begin_weight_ = 0;
        cross_.fill({});
        first_column_.fill({});
        solved_ = false;
    }

    bool update(const gain_sample& now, bin_gains& ahead) noexcept override {
        now_ = (now_ + 1) % history_.size();
        history_[now_] = now.gain;
        run_ = std::min(run_ + 1, order);
        if (consecutive_ == horizon_ + order) {
            learn();
        } else if (++consecutive_ == horizon_ + order) {
            begin_segment();
            learn();
        }
        if (learned_ >= enough && learned_ % solve_every == 0) solve();
        if (!solved_ || run_ < order) return false;
        ahead = {};
        for (int i = 0; i < order; ++i) {
            const auto w = weights_[static_cast<std::size_t>(i)];
            const auto& h = past(i);
            for (std::size_t b = 0; b < bin_gains::padded; ++b) {
                ahead.re[b] += w.real() * h.re[b] - w.imag() * h.im[b];
                ahead.im[b] += w.real() * h.im[b] + w.imag() * h.re[b];
            }
        }
        return true;
    }

    void skip() noexcept override { run_ = consecutive_ = 0; }

private:
    static constexpr int order = 16;
    const bin_gains& past(int slots) const noexcept {
        const std::size_t n = history_.size();
        return history_[(now_ + n - static_cast<std::size_t>(slots)) % n];
    }

    static std::complex<double> product(const bin_gains& a, const bin_gains& b) noexcept {
        const auto [re, im] = lane_sum(bin_gains::padded,
                                       [&](auto at) {  // sum conj(a) b
                                           const auto ar = at(a.re.data()), ai = at(a.im.data());
                                           const auto br = at(b.re.data()), bi = at(b.im.data());
                                           return lane_terms{ar * br + ai * bi, ar * bi - ai * br};
                                       })
                                  .of;
        return {re, im};
    }

    // The history is complete again after missing slots. The step along the diagonal is valid only
    // for sums over consecutive slots, so the sums from before the gap are kept separately from now
    // on. The first slot after it has no predecessor: its products are added along the diagonals.
    void begin_segment() noexcept {
        for (std::size_t i = 0; i < correlation_.size(); ++i)
            before_[i] = correlation_[i] + before_weight_ * before_[i];
        before_weight_ = 1;
        correlation_.fill({});
        first_column_.fill({});
        for (std::size_t i = 1; i < order; ++i)
            for (std::size_t k = 1; k <= i; ++k)
                begin_[i * order + k] = product(past(horizon_ + static_cast<int>(i)),
                                                past(horizon_ + static_cast<int>(k)));
        begin_weight_ = 1 / forget;
    }

    // Adds this slot and its past to the correlations. The past before the first slot is zero; a
    // slot whose past is not whole is not learned from. That way the step along the diagonal is
    // exact and Phi stays positive definite.
    void learn() noexcept {
        for (std::size_t i = order - 1; i > 0; --i)
            for (std::size_t k = i; k > 0; --k)
                correlation_[i * order + k] = correlation_[(i - 1) * order + k - 1];
        before_weight_ *= forget;
        begin_weight_ *= forget;
        if (begin_weight_ > least_weight)
            for (std::size_t i = 1; i < order; ++i)
                for (std::size_t k = 1; k <= i; ++k)
                    correlation_[i * order + k] += begin_weight_ * begin_[i * order + k];
        const auto& newest = past(horizon_);
        for (std::size_t i = 0; i < order; ++i) {
            const auto& a = past(horizon_ + static_cast<int>(i));
            cross_[i] = forget * cross_[i] + product(a, past(0));
            first_column_[i] = forget * first_column_[i] + product(a, newest);
            correlation_[i * order] = first_column_[i];
        }
        ++learned_;
    }

    void solve() noexcept {
        using matrix = Eigen::Matrix<std::complex<double>, order, order, Eigen::RowMajor>;
        using column = Eigen::Matrix<std::complex<double>, order, 1>;
        matrix a = Eigen::Map<const matrix>(correlation_.data());
        if (before_weight_ > least_weight)
            a += before_weight_ * Eigen::Map<const matrix>(before_.data());
        a.diagonal().array() += std::complex<double>(loading_ * a.diagonal().real().sum() / order);
        const Eigen::LLT<matrix> solver(a);  // of fixed size: nothing is allocated
        if (solver.info() != Eigen::Success) return;
        const column c = solver.solve(Eigen::Map<const column>(cross_.data()));
        if (!c.allFinite()) return;
        for (int i = 0; i < order; ++i)
            weights_[static_cast<std::size_t>(i)] = std::complex<float>(c[i]);
        solved_ = true;
    }

    int horizon_;
    double loading_;
    std::vector<bin_gains> history_;
    int consecutive_;           // number of consecutive slots at its end, up to all
    std::size_t now_ = 0;       // index of the newest entry of history_
    int run_ = 0;               // measured slots in a row, up to those that a forecast needs
    std::int64_t learned_ = 0;  // slots
    std::array<std::complex<double>, order * order> correlation_{};
    // Sums from before missing slots, and the products of the first slot after them.
    std::array<std::complex<double>, order * order> before_{}, begin_{};
    double before_weight_ = 0, begin_weight_ = 0;
    std::array<std::complex<double>, order> cross_{}, first_column_{};
    std::array<std::complex<float>, order> weights_{};
    bool solved_ = false;
};

}  // namespace

std::unique_ptr<gain_predictor> make_least_squares_predictor(int horizon) {
    return std::make_unique<least_squares_predictor>(horizon);
}

}  // namespace wip::phy
