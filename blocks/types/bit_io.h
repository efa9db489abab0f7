// SPDX-License-Identifier: GPL-3.0-or-later
// Bits in and out of bytes, most significant bit first, with the limits checked: a writer that runs
// out of room and a reader that runs out of bits both say so once, at the end, through ok().
#pragma once

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
        for (int i = bits - 1; i >= 0; --i, ++position_) {
            if (position_ >= out_.size() * 8) {
                ok_ = false;
                return;
            }
            out_[position_ / 8] |=
                static_cast<std::uint8_t>(((value >> i) & 1U) << (7 - position_ % 8));
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
