// SPDX-License-Identifier: GPL-3.0-or-later
#include "sample/interference.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "sample/counter_random.h"
#include "sample/fast_math.h"
#include "types/db.h"

namespace wip::sample_model {

tone::tone(const tone_config& config, const stage_context& context) {
    check_range("tone dbfs", config.dbfs, -200, 10);
    check_range("tone hz", config.hz, -3.84e6, 3.84e6);
    const long double turns = static_cast<long double>(config.hz) / context.sample_rate;
    step_ = static_cast<std::uint64_t>(
        std::fmod(std::round((turns - std::floor(turns)) * 0x1p64L), 0x1p64L));
    amplitude_ = static_cast<float>(std::sqrt(wip::dbfs(config.dbfs).power()));
}

void tone::work(std::int64_t first, std::span<const cf32> in, std::span<cf32> out) noexcept {
    constexpr std::size_t block = 256;
    for (std::size_t done = 0; done < out.size(); done += block) {
        const std::size_t n = std::min(block, out.size() - done);
        const std::uint64_t base =
            static_cast<std::uint64_t>(first + static_cast<std::int64_t>(done)) * step_;
        alignas(64) float re[block], im[block];
        for (std::size_t i = 0; i < n; ++i) {
            const sine_cosine w = fast_sincos(static_cast<std::uint32_t>((base + i * step_) >> 32));
            re[i] = amplitude_ * w.cosine;
            im[i] = amplitude_ * w.sine;
        }
        const cf32* x = in.data() + done;
        for (std::size_t i = 0; i < n; ++i)
            out[done + i] = cf32(x[i].real() + re[i], x[i].imag() + im[i]);
    }
}

interference::interference(const interference_config& config, const stage_context& context)
    : coefficients_(length),
      shift_(
          cfo_config{config.centre_hz >= -1e6 && config.centre_hz <= 1e6 ? config.centre_hz : 0, 0},
          context),
      key_(derive_key(context.seed, context.purpose ^ 0x57424900u)),
      white_(length - 1 + block),
      left_(white_.size() + philox_width),
      right_(left_.size()),
      re_(white_.size()),
      im_(white_.size()) {
    check_range("interference dbfs", config.dbfs, -200, 10);
    check_range("interference centre_hz", config.centre_hz, -1e6, 1e6);
    check_range("interference bandwidth_hz", config.bandwidth_hz, 20e3, context.sample_rate);
    const double width = config.bandwidth_hz / context.sample_rate;
    constexpr double beta = 4.55;  // -50 dB
    double energy = 0;
    std::vector<double> h(length);
    for (int k = 0; k < length; ++k) {
        const double u = k - (length - 1) / 2.0, x = 2 * u / length;
        h[static_cast<std::size_t>(k)] = std::sin(std::numbers::pi * width * u) /
                                         (std::numbers::pi * u) *
                                         std::cyl_bessel_i(0, beta * std::sqrt(1 - x * x));
        energy += h[static_cast<std::size_t>(k)] * h[static_cast<std::size_t>(k)];
    }
    const double scale = std::sqrt(wip::dbfs(config.dbfs).power() / energy);
    for (std::size_t k = 0; k < length; ++k) coefficients_[k] = static_cast<float>(h[k] * scale);
}

void interference::work(std::int64_t first, std::span<const cf32> in,
                        std::span<cf32> out) noexcept {
    for (std::size_t done = 0; done < out.size();) {
        const std::int64_t at = first + static_cast<std::int64_t>(done);
        const std::size_t n = std::min<std::size_t>(block, out.size() - done);
        // White noise of [at - 63, at + n), computed again in every call, as a function of the
        // index.
        const std::size_t size = n + length - 1;
        philox_row(static_cast<std::uint64_t>(at - (length - 1)), key_, size, left_.data(),
                   right_.data());
        for (std::size_t i = 0; i < size; ++i) {
            const float u = (static_cast<float>(left_[i]) + 0.5f) * 0x1p-32f;
            const float radius = std::sqrt(std::max(-fast_log(u), 0.0f));
            const sine_cosine v = fast_sincos(right_[i]);
            re_[i] = radius * v.cosine;
            im_[i] = radius * v.sine;
        }
        std::fill(white_.begin(), white_.begin() + static_cast<std::ptrdiff_t>(n), cf32{});
        alignas(64) float sum_re[block] = {}, sum_im[block] = {};
        for (std::size_t k = 0; k < length; ++k) {
            const float c = coefficients_[k];
            for (std::size_t i = 0; i < n; ++i) {
                sum_re[i] += c * re_[i + k];
                sum_im[i] += c * im_[i + k];
            }
        }
        for (std::size_t i = 0; i < n; ++i) white_[i] = cf32(sum_re[i], sum_im[i]);
        shift_.work(at, {white_.data(), n}, {white_.data(), n});
        for (std::size_t i = 0; i < n; ++i) out[done + i] = in[done + i] + white_[i];
        done += n;
    }
}

}  // namespace wip::sample_model
