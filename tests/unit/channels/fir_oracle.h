// SPDX-License-Identifier: GPL-3.0-or-later
// The delay line written as its formula, in double precision, one sample and one tap at a time:
// y[n] = sum_p a_p(n) sum_k g(k - 6 - tau_p) x[n - k], a_p exact at every sample (tap_process.h), g
// the interpolation kernel of M = 7. What tapped_delay_line makes of it with vectors, floats, knots
// and lines is measured against this.
#pragma once

#include <complex>
#include <vector>

#include "sample/fractional_delay.h"
#include "sample/tap_process.h"

namespace wip::test {

class fir_oracle {
public:
    fir_oracle(const sample_model::delay_profile& profile, const sample_model::motion& movement,
               const sample_model::stage_context& context)
        : taps_(profile, movement, context), kernel_(half_width, false) {
        for (std::size_t p = 0; p < taps_.size(); ++p) {
            const double delay = taps_.delay_s(p) * context.sample_rate;
            const int length = static_cast<int>(delay) + 2 * half_width;
            rows_.emplace_back();
            for (int k = 0; k < length; ++k)
                rows_.back().push_back(kernel_.exact(k - (half_width - 1) - delay));
        }
    }

    // Outputs n in [first, first + count) for the input x(n), a function of the index.
    template <class Input>
    std::vector<std::complex<double>> outputs(std::int64_t first, std::size_t count,
                                              Input x) const {
        std::vector<std::complex<double>> y(count);
        for (std::size_t i = 0; i < count; ++i) {
            const std::int64_t n = first + static_cast<std::int64_t>(i);
            std::vector<sample_model::clarke_waves::knot> knots(rows_.size());
            taps_.evaluate(n, knots);
            for (std::size_t p = 0; p < rows_.size(); ++p) {
                std::complex<double> sum;
                for (std::size_t k = 0; k < rows_[p].size(); ++k)
                    sum += rows_[p][k] * std::complex<double>(x(n - static_cast<std::int64_t>(k)));
                y[i] += std::complex<double>(knots[p].value) * sum;
            }
        }
        return y;
    }

private:
    static constexpr int half_width = 7;
    sample_model::tap_processes taps_;
    sample_model::delay_kernel kernel_;
    std::vector<std::vector<double>> rows_;
};

}  // namespace wip::test
