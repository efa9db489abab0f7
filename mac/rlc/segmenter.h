// SPDX-License-Identifier: GPL-3.0-or-later
// The packets that are being cut into link frames, in their final order (queue/packet_queue.h has
// those before them). They are one string of nibbles, packet after packet, no headers: an IP packet
// carries its own length. A frame takes the next P(k) nibbles of it:
//   packing on    across packet boundaries; zero nibbles after the last packet that is there
//   packing off   up to the end of the packet; the rest of the frame is zero nibbles
// A zero nibble where a header is expected (no IP version is 0) is padding to the end of the frame.
//
// SDUs are numbered 0, 1, 2 ... in the order in which they came.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <vector>

namespace wip {

using sdu_number = std::int64_t;

class segmenter {
public:
    explicit segmenter(bool packing) : packing_(packing) {}

    // Throws std::invalid_argument for a packet that is empty or longer than IP allows. A packet
    // leaves with its last nibble.
    void push(std::span<const std::uint8_t> packet);

    bool empty() const { return queue_.empty(); }
    std::size_t packets() const { return queue_.size(); }
    // The bytes of the packets, including the parts that were sent.
    std::size_t bytes() const { return bytes_; }
    // Nibbles that are not cut yet.
    int nibbles() const { return static_cast<int>(2 * bytes_ - position_); }
    // Nibbles of packet i that are not cut yet; i < packets().
    int nibbles_left(std::size_t i) const {
        return static_cast<int>(queue_[i].size() * 2 - (i == 0 ? position_ : 0));
    }
    sdu_number first_sdu() const { return first_; }  // of those that are here
    sdu_number next_sdu() const { return first_ + static_cast<sdu_number>(queue_.size()); }

    struct cut {
        int nibbles = 0;           // taken from packets, the rest is padding
        sdu_number first_sdu = 0;  // the packets that have a part in this frame ...
        sdu_number end_sdu = 0;    // ... up to, not including, this one
        sdu_number end_cut = 0;    // packets before this one are completely cut
    };
    // The next frame: `nibbles` nibbles into out ((nibbles + 1) / 2 bytes, written in full).
    cut take(int nibbles, std::span<std::uint8_t> out);

    void set_packing(bool on) { packing_ = on; }

private:
    std::deque<std::vector<std::uint8_t>> queue_;
    std::vector<std::vector<std::uint8_t>> spare_;  // buffers of packets that left, for reuse
    std::size_t position_ = 0;                      // nibbles of the first packet that are cut
    std::size_t bytes_ = 0;
    sdu_number first_ = 0;
    bool packing_;
};

}  // namespace wip
