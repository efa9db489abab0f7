// SPDX-License-Identifier: GPL-3.0-or-later
// Additive white Gaussian noise, circular, of a given power E|n|^2 over the whole sample rate.
// Sample i of the noise is a function of (seed, i): Box-Muller on one Philox output,
// n = sqrt(-power ln u) exp(j 2 pi v). So the noise does not depend on how a stream is cut into
// calls, and `seek` can go anywhere, also back. 32-bit uniforms reach |n| = 4.7 sigma sqrt(2).
// tests/unit/channels/test_noise.cpp: variance, kurtosis, tails, whiteness, chunking.
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <span>

namespace wip::sample_model {

using cf32 = std::complex<float>;

class noise {
public:
    // power: E|n|^2, full scale = 1. Throws std::invalid_argument unless power is 0 or more and
    // finite. `purpose` tells apart the sources that share a seed.
    noise(double power, std::uint64_t seed, std::uint32_t purpose = 0);

    // Sets the power from the next sample on. The sequence stays the same, only its level changes.
    void set_power(double power) noexcept { minus_power_ = static_cast<float>(-power); }
    void seek(std::int64_t sample) noexcept { position_ = sample; }

    // out = in + noise; in and out may be the same memory, sizes are equal.
    void work(std::span<const cf32> in, std::span<cf32> out) noexcept;
    // The noise itself, its parts apart; sizes are equal.
    void write(std::span<float> re, std::span<float> im) noexcept;

private:
    static constexpr std::size_t block = 64;  // fits the registers of one vectorised pass
    void make(std::uint64_t first, std::size_t n, float* re, float* im) const noexcept;

    std::uint32_t key_;
    float minus_power_;
    std::int64_t position_ = 0;
};

}  // namespace wip::sample_model
