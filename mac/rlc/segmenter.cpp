// SPDX-License-Identifier: GPL-3.0-or-later
#include "rlc/segmenter.h"

#include <algorithm>
#include <stdexcept>
#include <string>

#include "types/not_valid.h"
#include "wire/clear_nibbles.h"
#include "wire/ip_header.h"
#include "wire/nibbles.h"

namespace wip {
namespace {

constexpr std::size_t most_spare = 64;  // buffers kept for later packets

}  // namespace

void segmenter::push(std::span<const std::uint8_t> packet) {
    if (packet.empty() || packet.size() > max_packet_bytes)
        throw std::invalid_argument(
            not_valid("length of a packet", std::to_string(packet.size()), "1..65575 bytes"));
    std::vector<std::uint8_t> buffer;
    if (!spare_.empty()) {
        buffer = std::move(spare_.back());
        spare_.pop_back();
    }
    buffer.assign(packet.begin(), packet.end());
    bytes_ += packet.size();
    queue_.push_back(std::move(buffer));
}

segmenter::cut segmenter::take(int nibbles, std::span<std::uint8_t> out) {
    cut c;
    c.first_sdu = c.end_sdu = c.end_cut = first_;
    const auto room = static_cast<std::size_t>(nibbles);
    std::size_t filled = 0;
    while (filled < room && !queue_.empty()) {
        const std::size_t left = queue_.front().size() * 2 - position_;
        const std::size_t n = std::min(left, room - filled);
        copy_nibbles(out.data(), filled, queue_.front().data(), position_, n);
        filled += n;
        position_ += n;
        c.end_sdu = first_ + 1;
        if (n < left) break;
        bytes_ -= queue_.front().size();
        if (spare_.size() < most_spare) spare_.push_back(std::move(queue_.front()));
        queue_.pop_front();
        position_ = 0;
        ++first_;
        if (!packing_) break;
    }
    clear_nibbles_from(out, filled);
    c.nibbles = static_cast<int>(filled);
    c.end_cut = first_;
    return c;
}

}  // namespace wip
