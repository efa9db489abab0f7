// SPDX-License-Identifier: GPL-3.0-or-later
#include "sample/noise.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

#include "sample/counter_random.h"
#include "sample/fast_math.h"
#include "types/require.h"

namespace wip::sample_model {

noise::noise(double power, std::uint64_t seed, std::uint32_t purpose)
    : key_(derive_key(seed, purpose)), minus_power_(static_cast<float>(-power)) {
    if (!(power >= 0) || !std::isfinite(power))
        throw std::invalid_argument(
            not_valid("noise power", text_of(power), "0 or more (full scale = 1)"));
}

// n <= block samples from `first` on.
void noise::make(std::uint64_t first, std::size_t n, float* re, float* im) const noexcept {
    const float minus_power = minus_power_;
    alignas(64) std::uint32_t left[block], right[block];
    philox_row(first, key_, n, left, right);
    for (std::size_t i = 0; i < n; ++i) {
        const float u = (static_cast<float>(left[i]) + 0.5f) * 0x1p-32f;
        const float radius = std::sqrt(std::max(minus_power * fast_log(u), 0.0f));
        const sine_cosine v = fast_sincos(right[i]);
        re[i] = radius * v.cosine;
        im[i] = radius * v.sine;
    }
}

void noise::work(std::span<const cf32> in, std::span<cf32> out) noexcept {
    alignas(64) float re[block], im[block];
    for (std::size_t done = 0; done < out.size(); done += block) {
        const std::size_t n = std::min(block, out.size() - done);
        make(static_cast<std::uint64_t>(position_) + done, block, re, im);
        const cf32* x = in.data() + done;
        cf32* y = out.data() + done;
        for (std::size_t i = 0; i < n; ++i) y[i] = cf32(x[i].real() + re[i], x[i].imag() + im[i]);
    }
    position_ += static_cast<std::int64_t>(out.size());
}

void noise::write(std::span<float> re, std::span<float> im) noexcept {
    for (std::size_t done = 0; done < re.size(); done += block)
        make(static_cast<std::uint64_t>(position_) + done, std::min(block, re.size() - done),
             re.data() + done, im.data() + done);
    position_ += static_cast<std::int64_t>(re.size());
}

}  // namespace wip::sample_model
