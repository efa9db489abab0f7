// SPDX-License-Identifier: GPL-3.0-or-later
// A constant gain in dB. 0 dB copies bit for bit.
#pragma once

#include <complex>
#include <cstddef>
#include <span>

#include "types/db.h"

namespace wip::sample_model {

class gain {
public:
    explicit gain(db ratio) noexcept : amplitude_(static_cast<float>(ratio.amplitude())) {}
    void work(std::span<const std::complex<float>> in,
              std::span<std::complex<float>> out) const noexcept {
        for (std::size_t i = 0; i < out.size(); ++i)
            out[i] = std::complex<float>(amplitude_ * in[i].real(), amplitude_ * in[i].imag());
    }

private:
    float amplitude_;
};

}  // namespace wip::sample_model
