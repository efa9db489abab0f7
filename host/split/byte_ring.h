// SPDX-License-Identifier: GPL-3.0-or-later
// Bytes on their way from one socket to the other, never more than a bound: what one side does not
// take fills it, then nothing more is read from the other, and TCP tells its sender to wait.
#pragma once

#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace wip::split {

class byte_ring {
public:
    // Memory is allocated by the kernel when it is first written; most connections never fill
    // theirs.
    explicit byte_ring(std::size_t bound)
        : data_(std::make_unique_for_overwrite<std::uint8_t[]>(bound)), bound_(bound) {}

    std::size_t size() const { return size_; }
    std::size_t room() const { return bound_ - size_; }
    std::size_t most() const { return most_; }  // largest number of bytes that it has held

    // Free memory for the next bytes, and the bytes that leave next, each in two pieces where the
    // ring wraps.
    std::array<iovec, 2> to_fill() { return pieces((begin_ + size_) % bound_, room()); }
    std::array<iovec, 2> to_take() { return pieces(begin_, size_); }
    void filled(std::size_t n) {
        size_ += n;
        most_ = std::max(most_, size_);
    }
    void taken(std::size_t n) {
        begin_ = (begin_ + n) % bound_;
        size_ -= n;
    }

private:
    std::array<iovec, 2> pieces(std::size_t from, std::size_t n) {
        const std::size_t first = std::min(n, bound_ - from);
        return {{{data_.get() + from, first}, {data_.get(), n - first}}};
    }

    std::unique_ptr<std::uint8_t[]> data_;
    std::size_t bound_, begin_ = 0, size_ = 0, most_ = 0;
};

}  // namespace wip::split
