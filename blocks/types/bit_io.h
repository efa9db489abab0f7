// SPDX-License-Identifier: GPL-3.0-or-later
// Bits in and out of bytes, most significant bit first, with the limits checked: a writer that runs
// out of room and a reader that runs out of bits both say so once, at the end, through ok().
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

namespace wip {

class bit_writer {
public:
    explicit bit_writer(std::span<std::uint8_t> out) : out_(out) {
        for (auto& b : out_) b = 0;
    }
    void put(std::uint32_t value, int bits) {
        const int room = static_cast<int>(out_.size() * 8 - position_);
        if (bits > room) {
            ok_ = false;
            value = static_cast<std::uint32_t>(std::uint64_t{value} >> (bits - room));
            bits = room;
        }
        while (bits > 0) {
            const int left = 8 - static_cast<int>(position_ % 8);  // in this byte
            const int n = std::min(bits, left);
            out_[position_ / 8] |=
                static_cast<std::uint8_t>((value >> (bits - n) & ((1U << n) - 1U)) << (left - n));
            position_ += static_cast<std::size_t>(n);
            bits -= n;
        }
    }
    // Elias gamma code of value >= 1: 2 floor(log2 value) + 1 bits.
    void put_gamma(std::uint32_t value) {
        const int extra = std::bit_width(value) - 1;
        put(0, extra);
        put(value, extra + 1);
    }
    std::size_t position() const { return position_; }
    bool ok() const { return ok_; }

private:
    std::span<std::uint8_t> out_;
    std::size_t position_ = 0;
    bool ok_ = true;
};

// Takes what a bit_writer does, and counts the bits.
class bit_counter {
public:
    void put(std::uint32_t, int bits) { bits_ += bits; }
    void put_gamma(std::uint32_t value) { bits_ += 2 * std::bit_width(value) - 1; }
    int bits() const { return bits_; }

private:
    int bits_ = 0;
};

class bit_reader {
public:
    explicit bit_reader(std::span<const std::uint8_t> in) : in_(in) {}
    std::uint32_t get(int bits) {
        std::uint32_t value = 0;
        for (int i = 0; i < bits; ++i, ++position_) {
            if (position_ >= in_.size() * 8) {
                ok_ = false;
                return 0;
            }
            value = value << 1 | (in_[position_ / 8] >> (7 - position_ % 8) & 1U);
        }
        return value;
    }
    std::uint32_t get_gamma() {
        int extra = 0;
        while (ok_ && extra < 31 && get(1) == 0) ++extra;
        if (!ok_ || extra == 31) {
            ok_ = false;
            return 1;
        }
        return 1U << extra | get(extra);
    }
    std::size_t position() const { return position_; }
    bool ok() const { return ok_; }

private:
    std::span<const std::uint8_t> in_;
    std::size_t position_ = 0;
    bool ok_ = true;
};

}  // namespace wip
