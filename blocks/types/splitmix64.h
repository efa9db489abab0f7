// SPDX-License-Identifier: GPL-3.0-or-later
// splitmix64 (Steele, Lea, Flood 2014): numbers that follow from a seed, the same on every
// platform.
#pragma once

#include <cstdint>

namespace wip {

class splitmix64 {
public:
    constexpr explicit splitmix64(std::uint64_t seed) : state_(seed) {}
    constexpr std::uint64_t next() {
        std::uint64_t z = state_ += 0x9e3779b97f4a7c15U;
        z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9U;
        z = (z ^ z >> 27) * 0x94d049bb133111ebU;
        return z ^ z >> 31;
    }

private:
    std::uint64_t state_;
};

}  // namespace wip
