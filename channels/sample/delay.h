// SPDX-License-Identifier: GPL-3.0-or-later
// An integer delay line: out[n] = in[n - delay], zeros before the first sample.
#pragma once

#include <complex>
#include <cstddef>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace wip::sample_model {

class delay {
public:
    // Throws std::invalid_argument unless 0 <= samples <= 1 000 000.
    explicit delay(long samples) {
        if (samples < 0 || samples > 1'000'000)
            throw std::invalid_argument("delay of " + std::to_string(samples) +
                                        " samples: valid is 0 to 1000000");
        line_.resize(static_cast<std::size_t>(samples));
    }

    // in and out may be the same memory, sizes are equal.
    void work(std::span<const std::complex<float>> in,
              std::span<std::complex<float>> out) noexcept {
        for (std::size_t i = 0; i < out.size(); ++i) {
            const std::complex<float> newest = in[i];
            if (line_.empty()) {
                out[i] = newest;
                continue;
            }
            out[i] = line_[oldest_];
            line_[oldest_] = newest;
            if (++oldest_ == line_.size()) oldest_ = 0;
        }
    }

private:
    std::vector<std::complex<float>> line_;
    std::size_t oldest_ = 0;
};

}  // namespace wip::sample_model
