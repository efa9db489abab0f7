// SPDX-License-Identifier: GPL-3.0-or-later
// Reads the input of a fuzz target, and reports a violated invariant. After the end of the input
// everything reads as zero, so that every input means something.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string>
#include <string_view>

namespace wip::fuzz {

class fuzz_input {
public:
    fuzz_input(const std::uint8_t* data, std::size_t size) : left_(data, size) {}

    bool empty() const { return left_.empty(); }
    std::span<const std::uint8_t> bytes(std::size_t n) {
        const auto taken = left_.first(std::min(n, left_.size()));
        left_ = left_.subspan(taken.size());
        return taken;
    }
    // A block with its length, 16 bits, before it.
    std::span<const std::uint8_t> block() { return bytes(u16()); }
    std::string text(std::size_t n) {
        const auto b = bytes(n);
        return {b.begin(), b.end()};
    }
    std::string rest() { return text(left_.size()); }

    std::uint8_t u8() {
        const auto b = bytes(1);
        return b.empty() ? std::uint8_t{0} : b[0];
    }
    std::uint16_t u16() {
        const int low = u8();
        return static_cast<std::uint16_t>(low | u8() << 8);
    }
    std::uint32_t u32() {
        const std::uint32_t low = u16();
        return low | static_cast<std::uint32_t>(u16()) << 16;
    }
    std::uint64_t u64() {
        const std::uint64_t low = u32();
        return low | static_cast<std::uint64_t>(u32()) << 32;
    }
    bool flag() { return (u8() & 1) != 0; }
    // A number in low .. high, from a byte.
    int in(int low, int high) { return low + u8() % (high - low + 1); }
    double share() { return u8() / 255.0; }

private:
    std::span<const std::uint8_t> left_;
};

[[noreturn]] inline void violated(std::string_view what) {
    std::fprintf(stderr, "VIOLATED: %.*s\n", static_cast<int>(what.size()), what.data());
    std::abort();
}
inline void expect(bool holds, std::string_view what) {
    if (!holds) violated(what);
}

}  // namespace wip::fuzz

// Each target defines this function: one run with one input. The name is libFuzzer's.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
