// SPDX-License-Identifier: GPL-3.0-or-later
#include "sample/cfo.h"

#include <algorithm>
#include <cmath>

#include "sample/complex_multiply.h"
#include "sample/fast_math.h"

namespace wip::sample_model {
namespace {

std::uint64_t fraction(long double turns) {
    turns -= std::floor(turns);
    return static_cast<std::uint64_t>(std::fmod(std::round(turns * 0x1p64L), 0x1p64L));
}

}  // namespace

cfo::cfo(const cfo_config& config, const stage_context& context) {
    check_range("cfo hz", config.hz, -1e6, 1e6);
    check_range("cfo drift_hz_per_s", config.drift_hz_per_s, -1e5, 1e5);
    const long double rate = context.sample_rate;
    step_ = fraction(config.hz / rate);
    drift_ = fraction(config.drift_hz_per_s / (rate * rate));
}

std::uint64_t cfo::phase(std::int64_t n) const noexcept {
    // n(n-1)/2 modulo 2^64: halve the even factor first.
    const std::uint64_t a = static_cast<std::uint64_t>(n % 2 == 0 ? n / 2 : n);
    const std::uint64_t b = static_cast<std::uint64_t>(n % 2 == 0 ? n - 1 : (n - 1) / 2);
    return static_cast<std::uint64_t>(n) * step_ + a * b * drift_;
}

void cfo::work(std::int64_t first, std::span<const cf32> in, std::span<cf32> out) noexcept {
    for (std::size_t done = 0; done < out.size(); done += multiply_block) {
        const std::size_t n = std::min(multiply_block, out.size() - done);
        const std::int64_t at = first + static_cast<std::int64_t>(done);
        const std::uint64_t base = phase(at);
        const std::uint64_t step = step_ + static_cast<std::uint64_t>(at) * drift_;
        alignas(64) float re[multiply_block], im[multiply_block];
        for (std::size_t i = 0; i < n; ++i) {
            const std::uint64_t k = i;
            const std::uint64_t p = base + k * step + ((k * (k - 1)) >> 1) * drift_;
            const sine_cosine w = fast_sincos(static_cast<std::uint32_t>(p >> 32));
            re[i] = w.cosine;
            im[i] = w.sine;
        }
        multiply(in.data() + done, re, im, out.data() + done, n);
    }
}

}  // namespace wip::sample_model
