// SPDX-License-Identifier: GPL-3.0-or-later
// Bytes on their way from one socket to the other, never more than a bound: what one side does not
// take fills it, then nothing more is read from the other, and TCP tells its sender to wait.
#pragma once

#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace wip::split {

class byte_ring {
public:
    explicit byte_ring(std::size_t bound) : data_(bound) {}

    std::size_t size() const { return size_; }
    std::size_t room() const { return data_.size() - size_; }
    std::size_t most() const { return most_; }  // that it ever held

    // Where the next bytes go, and which are next to leave: two pieces where the ring wraps.
    std::array<iovec, 2> to_fill() { return pieces((begin_ + size_) % data_.size(), room()); }
    std::array<iovec, 2> to_take() { return pieces(begin_, size_); }
    void filled(std::size_t n) {
        size_ += n;
        most_ = std::max(most_, size_);
    }
    void taken(std::size_t n) {
        begin_ = (begin_ + n) % data_.size();
        size_ -= n;
    }

private:
    std::array<iovec, 2> pieces(std::size_t from, std::size_t n) {
        const std::size_t first = std::min(n, data_.size() - from);
        return {{{data_.data() + from, first}, {data_.data(), n - first}}};
    }

    std::vector<std::uint8_t> data_;
    std::size_t begin_ = 0, size_ = 0, most_ = 0;
};

}  // namespace wip::split
