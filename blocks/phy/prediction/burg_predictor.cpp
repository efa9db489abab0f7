// SPDX-License-Identifier: GPL-3.0-or-later
// The classical predictor of the literature: each bin an autoregressive model of order 16 by Burg's
// method (Burg 1975) over its last 192 gains: order by order, the reflection coefficient that
// minimises the sum of forward and backward prediction errors,
//     k_m = -2 sum f[n] conj(b[n-1]) / sum (|f[n]|^2 + |b[n-1]|^2).
// The model iterated `horizon` times is one set of 16 weights, made with it. In every slot the
// models of three bins are fitted anew, so each of them every 9 slots. After a missing slot they
// stay as they are until the window is complete again.
#include <algorithm>
#include <complex>

#include "phy/prediction/predictors.h"
#include "types/bin.h"

namespace wip::phy {
namespace {

constexpr int fits_a_slot = 3;

class burg_predictor final : public gain_predictor {
public:
    explicit burg_predictor(int horizon) : horizon_(horizon) { reset(); }
    void reset() noexcept override {
        for (std::size_t b = 0; b < nof_bins; ++b) {
            past_re_[b].fill(0);
            past_im_[b].fill(0);
        }
        weights_.fill({});
        start_ = filled_ = next_ = 0;
    }

    bool update(const gain_sample& now, bin_gains& ahead) noexcept override {
        for (std::size_t b = 0; b < nof_bins; ++b) {
            past_re_[b][start_] = past_re_[b][start_ + window] = now.gain.re[b];
            past_im_[b][start_] = past_im_[b][start_ + window] = now.gain.im[b];
        }
        start_ = (start_ + 1) % window;
        filled_ = std::min(filled_ + 1, window);
        if (filled_ < order) return false;
        for (int n = 0; n < fits_a_slot && filled_ == window; ++n) {
            fit(bin_index(next_));
            next_ = (next_ + 1) % nof_bins;
        }
        ahead = {};
        bool all = true;
        for (std::size_t b = 0; b < nof_bins; ++b) {
            const auto& w = weights_[b];
            all = all && w.fitted;
            const float* pr = past_re_[b].data() + start_ + window - 1;  // newest
            const float* pi = past_im_[b].data() + start_ + window - 1;
            for (std::ptrdiff_t i = 0; i < static_cast<std::ptrdiff_t>(order); ++i) {
                const auto u = static_cast<std::size_t>(i);
                ahead.re[b] += w.re[u] * pr[-i] - w.im[u] * pi[-i];
                ahead.im[b] += w.re[u] * pi[-i] + w.im[u] * pr[-i];
            }
        }
        return all;
    }

    // The window must not have a hole.
    void skip() noexcept override { filled_ = 0; }

private:
    static constexpr std::size_t window = 192, order = 16;
    struct weights {
        bool fitted = false;
        std::array<float, order> re{}, im{};
    };
    void fit(bin_index bin) noexcept {
        using cf64 = std::complex<double>;
        std::array<double, window> fr, fi, br, bi;
        for (std::size_t n = 0; n < window; ++n) {
            fr[n] = br[n] = static_cast<double>(past_re_[bin.n()][start_ + n]);
            fi[n] = bi[n] = static_cast<double>(past_im_[bin.n()][start_ + n]);
        }
        std::array<cf64, order> a{};  // x[n] = -sum a[i] x[n-1-i] + e
        for (std::size_t m = 0; m < order; ++m) {
            double re = 0, im = 0, under = 0;
            for (std::size_t n = m + 1; n < window; ++n) {
                re += fr[n] * br[n - 1] + fi[n] * bi[n - 1];
                im += fi[n] * br[n - 1] - fr[n] * bi[n - 1];
                under +=
                    fr[n] * fr[n] + fi[n] * fi[n] + br[n - 1] * br[n - 1] + bi[n - 1] * bi[n - 1];
            }
            if (!(under > 0)) return;
            const double kr = -2 * re / under, ki = -2 * im / under;
            for (std::size_t n = window - 1; n > m; --n) {
                const double r = fr[n], i = fi[n];
                fr[n] += kr * br[n - 1] - ki * bi[n - 1];
                fi[n] += kr * bi[n - 1] + ki * br[n - 1];
                br[n] = br[n - 1] + kr * r + ki * i;
                bi[n] = bi[n - 1] + kr * i - ki * r;
            }
            const cf64 k(kr, ki);
            const auto old = a;
            for (std::size_t i = 0; i < m; ++i) a[i] += k * std::conj(old[m - 1 - i]);
            a[m] = k;
        }
        auto g = a;  // weights of one step, then of `horizon`, both with the sign of a
        for (int h = 1; h < horizon_; ++h) {
            const cf64 first = -g[0];
            for (std::size_t i = 0; i < order; ++i)
                g[i] = first * a[i] + (i + 1 < order ? g[i + 1] : cf64{});
        }
        auto& w = weights_[bin.n()];
        for (std::size_t i = 0; i < order; ++i) {
            w.re[i] = -static_cast<float>(g[i].real());
            w.im[i] = -static_cast<float>(g[i].imag());
        }
        w.fitted = true;
    }

    int horizon_;
    // Oldest first from start_, everything twice so that the window lies in one piece.
    std::array<std::array<float, 2 * window>, nof_bins> past_re_, past_im_;
    std::array<weights, nof_bins> weights_;
    std::size_t start_ = 0, filled_ = 0, next_ = 0;
};

}  // namespace

std::unique_ptr<gain_predictor> make_burg_predictor(int horizon) {
    return std::make_unique<burg_predictor>(horizon);
}

}  // namespace wip::phy
