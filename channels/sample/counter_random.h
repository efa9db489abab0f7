// SPDX-License-Identifier: GPL-3.0-or-later
// Random numbers that are a function of (key, counter): Philox 2x32 (Salmon et al., "Parallel
// random numbers: as easy as 1, 2, 3", SC 2011) with seven rounds, the fewest that pass BigCrush
// there. A channel model that takes its counter from the absolute sample index gives the same noise
// however the stream is cut into calls, can be started anywhere and can go back, and needs no
// state.
#pragma once

#include <cstddef>
#include <cstdint>

namespace wip::sample_model {

struct random_pair {
    std::uint32_t a, b;
};

// A word that holds 32 bits. With AVX-512, vectors multiply best in words of 64 bits, whose upper
// half is then not used.
#if defined(__AVX512DQ__)
using philox_word = std::uint64_t;
#else
using philox_word = std::uint32_t;
#endif

inline random_pair philox(std::uint64_t counter, std::uint32_t key) noexcept {
    auto left = static_cast<philox_word>(counter), right = static_cast<philox_word>(counter >> 32);
    for (int round = 0; round < 7; ++round) {
        const std::uint64_t product = 0xD256D193u * (std::uint64_t{left} & 0xFFFFFFFFu);
        left = static_cast<philox_word>(product >> 32) ^ key ^ right;
        right = static_cast<philox_word>(product);
        key += 0x9E3779B9u;
    }
    return {static_cast<std::uint32_t>(left), static_cast<std::uint32_t>(right)};
}

inline constexpr std::size_t philox_width = 8;

// Writes the values for the counters first, first + 1, ...: n values, rounded up to a multiple of
// philox_width.
void philox_row(std::uint64_t first, std::uint32_t key, std::size_t n, std::uint32_t* a,
                std::uint32_t* b) noexcept;

// One key for each use of a seed: `purpose` numbers the models that share the seed. Throws
// bad_input if the program checks its streams (distinct_streams.h) and another one has the same
// key.
std::uint32_t derive_key(std::uint64_t seed, std::uint32_t purpose);

// Uniform in (0, 1).
inline double uniform(std::uint64_t counter, std::uint32_t key) noexcept {
    const random_pair p = philox(counter, key);
    return ((std::uint64_t{p.a} << 21 ^ p.b >> 11) + 0.5) * 0x1p-53;
}

}  // namespace wip::sample_model
