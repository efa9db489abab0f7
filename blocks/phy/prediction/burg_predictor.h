// SPDX-License-Identifier: GPL-3.0-or-later
// The classical predictor of the literature: each bin an autoregressive model of order 16 by Burg's
// method (Burg 1975) over its last 192 gains: order by order, the reflection coefficient that
// minimises the sum of forward and backward prediction errors,
//     k_m = -2 sum f[n] conj(b[n-1]) / sum (|f[n]|^2 + |b[n-1]|^2).
// The model iterated `horizon` times is one set of 16 weights, made with it. In every slot the
// models of three bins are fitted anew, so each of them every 9 slots.
#pragma once

#include <vector>

#include "phy/prediction/gain_predictor.h"
#include "types/bin.h"

namespace wip::phy {

class burg_predictor final : public gain_predictor {
public:
    explicit burg_predictor(int horizon) : horizon_(horizon) { reset(); }
    void reset() noexcept override;
    bool update(const gain_sample& now, bin_gains& ahead) noexcept override;
    void skip() noexcept override;

private:
    static constexpr std::size_t window = 192, order = 16;
    struct weights {
        bool fitted = false;
        std::array<float, order> re{}, im{};
    };
    void fit(bin_index bin) noexcept;

    int horizon_;
    // Oldest first from start_, everything twice so that the window lies in one piece.
    std::array<std::array<float, 2 * window>, nof_bins> past_re_, past_im_;
    std::array<weights, nof_bins> weights_;
    std::size_t start_ = 0, filled_ = 0, next_ = 0;
};

}  // namespace wip::phy
