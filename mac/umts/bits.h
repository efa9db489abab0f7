// SPDX-License-Identifier: GPL-3.0-or-later
// Fields of some bits, most significant first, as the formats of TS 25.322 have them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace wip::umts {

// Writes fields into octets. Past the end it writes nothing, and over() is true.
class bit_writer {
public:
    explicit bit_writer(std::span<std::uint8_t> out) : out_(out) {}
    void put(std::uint32_t value, int bits) noexcept {
        for (int b = bits - 1; b >= 0; --b, ++at_) {
            if (at_ >= out_.size() * 8) {
                over_ = true;
                return;
            }
            const auto mask = static_cast<std::uint8_t>(0x80U >> (at_ % 8));
            auto& byte = out_[at_ / 8];
            byte = static_cast<std::uint8_t>((value >> b & 1U) != 0 ? byte | mask : byte & ~mask);
        }
    }
    std::size_t bits() const { return at_; }
    std::size_t bytes() const { return (at_ + 7) / 8; }
    std::size_t left() const { return out_.size() * 8 - at_; }
    bool over() const { return over_; }

private:
    std::span<std::uint8_t> out_;
    std::size_t at_ = 0;
    bool over_ = false;
};

// Reads fields from octets. Past the end it reads zeros, and over() is true.
class bit_reader {
public:
    explicit bit_reader(std::span<const std::uint8_t> in) : in_(in) {}
    std::uint32_t get(int bits) noexcept {
        std::uint32_t value = 0;
        for (; bits > 0; --bits, ++at_) {
            const bool there = at_ < in_.size() * 8;
            over_ |= !there;
            value = value << 1 | (there ? in_[at_ / 8] >> (7 - at_ % 8) & 1U : 0U);
        }
        return value;
    }
    std::size_t left() const { return over_ ? 0 : in_.size() * 8 - at_; }
    bool over() const { return over_; }

private:
    std::span<const std::uint8_t> in_;
    std::size_t at_ = 0;
    bool over_ = false;
};

}  // namespace wip::umts
