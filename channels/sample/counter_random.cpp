// SPDX-License-Identifier: GPL-3.0-or-later
#include "sample/counter_random.h"

#include "sample/distinct_streams.h"

#if defined(__AVX2__) && !defined(__AVX512DQ__)
#include <immintrin.h>
#endif

namespace wip::sample_model {

void philox_row(std::uint64_t first, std::uint32_t key, std::size_t n, std::uint32_t* a,
                std::uint32_t* b) noexcept {
    n = (n + philox_width - 1) / philox_width * philox_width;
#if defined(__AVX2__) && !defined(__AVX512DQ__)
    // Works on words of 64 bits, whose lower halves AVX2 multiplies in one instruction; compilers
    // do not find this.
    for (std::size_t i = 0; i < n; i += philox_width) {
        __m256i left[2], right[2];  // even and odd counters
        for (int odd = 0; odd < 2; ++odd) {
            left[odd] = _mm256_add_epi64(_mm256_set1_epi64x(static_cast<long long>(first + i)),
                                         _mm256_setr_epi64x(odd, 2 + odd, 4 + odd, 6 + odd));
            right[odd] = _mm256_srli_epi64(left[odd], 32);
        }
        for (std::uint32_t round = 0, k = key; round < 7; ++round, k += 0x9E3779B9u)
            for (int odd = 0; odd < 2; ++odd) {
                const __m256i product = _mm256_mul_epu32(left[odd], _mm256_set1_epi64x(0xD256D193));
                const __m256i mixed = _mm256_xor_si256(right[odd], _mm256_set1_epi64x(k));
                left[odd] = _mm256_xor_si256(_mm256_srli_epi64(product, 32), mixed);
                right[odd] = product;
            }
        const auto store = [](std::uint32_t* to, const __m256i* of) {
            _mm256_storeu_si256(reinterpret_cast<__m256i*>(to),
                                _mm256_blend_epi32(of[0], _mm256_slli_epi64(of[1], 32), 0xAA));
        };
        store(a + i, left);
        store(b + i, right);
    }
#else
    for (std::size_t i = 0; i < n; ++i) {
        const random_pair p = philox(first + i, key);
        a[i] = p.a;
        b[i] = p.b;
    }
#endif
}

std::uint32_t derive_key(std::uint64_t seed, std::uint32_t purpose) {
    const random_pair p = philox(seed, 0x57495031u);
    const std::uint32_t key = philox((std::uint64_t{p.a} << 32 | purpose), p.b).a;
    distinct_streams::check({seed, purpose}, key);
    return key;
}

}  // namespace wip::sample_model
