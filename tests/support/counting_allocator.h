// SPDX-License-Identifier: GPL-3.0-or-later
// Counts every operator new of the process. It replaces the operators, so one source file of a test
// program includes it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <new>

namespace wip::test {

inline std::atomic<long> allocations{0};

inline void* counted_new(std::size_t n, std::size_t alignment) {
    ++allocations;
    void* p = alignment <= alignof(std::max_align_t)
                  ? std::malloc(n)
                  : std::aligned_alloc(alignment, (n + alignment - 1) / alignment * alignment);
    if (p == nullptr) throw std::bad_alloc();
    return p;
}

}  // namespace wip::test

// clang-format off
void* operator new(std::size_t n) { return wip::test::counted_new(n, 1); }
void* operator new[](std::size_t n) { return wip::test::counted_new(n, 1); }
void* operator new(std::size_t n, std::align_val_t a) { return wip::test::counted_new(n, std::size_t(a)); }
void* operator new[](std::size_t n, std::align_val_t a) { return wip::test::counted_new(n, std::size_t(a)); }
// clang-format on
void operator delete(void* p) noexcept { std::free(p); }
void operator delete[](void* p) noexcept { std::free(p); }
void operator delete(void* p, std::size_t) noexcept { std::free(p); }
void operator delete[](void* p, std::size_t) noexcept { std::free(p); }
void operator delete(void* p, std::align_val_t) noexcept { std::free(p); }
void operator delete[](void* p, std::align_val_t) noexcept { std::free(p); }
void operator delete(void* p, std::size_t, std::align_val_t) noexcept { std::free(p); }
void operator delete[](void* p, std::size_t, std::align_val_t) noexcept { std::free(p); }
