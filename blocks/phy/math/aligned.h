// SPDX-License-Identifier: GPL-3.0-or-later
// Memory aligned to 64 bytes: FFTW picks its fast codelets and the vector loops of the slot path
// load whole registers. Allocation happens in constructors only.
#pragma once

#include <cstddef>
#include <new>
#include <vector>

namespace wip::phy {

inline constexpr std::size_t vector_alignment = 64;

template <class T>
struct aligned_allocator {
    using value_type = T;
    aligned_allocator() = default;
    template <class U>
    aligned_allocator(const aligned_allocator<U>&) noexcept {}
    T* allocate(std::size_t n) {
        return static_cast<T*>(::operator new(n * sizeof(T), std::align_val_t(vector_alignment)));
    }
    void deallocate(T* p, std::size_t) noexcept {
        ::operator delete(p, std::align_val_t(vector_alignment));
    }
    template <class U>
    bool operator==(const aligned_allocator<U>&) const noexcept {
        return true;
    }
};

template <class T>
using aligned_vector = std::vector<T, aligned_allocator<T>>;

// Complex values of one OFDM symbol (500 used, padded) with the parts apart: vector loops need no
// shuffles. A cache line more than 4 KiB: the same subcarrier of all symbols lies in different sets
// of the first cache, which has 8 lines for addresses that are 4 KiB apart.
inline constexpr int plane_size = 512;
struct alignas(vector_alignment) plane {
    float re[plane_size] = {};
    float im[plane_size] = {};
    float padding[vector_alignment / sizeof(float)] = {};
};

}  // namespace wip::phy
