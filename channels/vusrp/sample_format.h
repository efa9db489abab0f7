// SPDX-License-Identifier: GPL-3.0-or-later
// Host sample formats: complex float (fc32), complex double (fc64) and complex 16-bit integer
// (sc16, full scale 32767), to and from the medium's complex float.
#pragma once

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>

namespace wip::vusrp {

enum class sample_format { fc32, fc64, sc16 };

inline std::optional<sample_format> parse_format(const std::string& name) {
    if (name == "fc32") return sample_format::fc32;
    if (name == "fc64") return sample_format::fc64;
    if (name == "sc16") return sample_format::sc16;
    return std::nullopt;
}

inline std::size_t sample_bytes(sample_format f) {
    return f == sample_format::fc64 ? 16 : f == sample_format::fc32 ? 8 : 4;
}

inline void to_host(sample_format f, std::span<const std::complex<float>> in, void* out) noexcept {
    const float* x = reinterpret_cast<const float*>(in.data());
    const std::size_t n = 2 * in.size();
    switch (f) {
        case sample_format::fc32:
            std::memcpy(out, x, n * sizeof(float));
            break;
        case sample_format::fc64:
            std::copy(x, x + n, static_cast<double*>(out));
            break;
        case sample_format::sc16: {
            auto* y = static_cast<std::int16_t*>(out);
            for (std::size_t i = 0; i < n; ++i)
                y[i] = static_cast<std::int16_t>(
                    std::nearbyint(std::clamp(x[i], -1.0f, 1.0f) * 32767.0f));
        }
    }
}

inline void from_host(sample_format f, const void* in,
                      std::span<std::complex<float>> out) noexcept {
    float* y = reinterpret_cast<float*>(out.data());
    const std::size_t n = 2 * out.size();
    switch (f) {
        case sample_format::fc32:
            std::memcpy(y, in, n * sizeof(float));
            break;
        case sample_format::fc64: {
            const auto* x = static_cast<const double*>(in);
            for (std::size_t i = 0; i < n; ++i) y[i] = static_cast<float>(x[i]);
            break;
        }
        case sample_format::sc16: {
            const auto* x = static_cast<const std::int16_t*>(in);
            for (std::size_t i = 0; i < n; ++i) y[i] = static_cast<float>(x[i]) * (1 / 32767.0f);
        }
    }
}

}  // namespace wip::vusrp
