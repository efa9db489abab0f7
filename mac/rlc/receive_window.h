// SPDX-License-Identifier: GPL-3.0-or-later
// The receiver's frames by unwrapped SN: how much of each has been received, whole or in fragments,
// and whether more can come. Frames from end() on have not been granted yet, as far as is known.
//
//   pending   not all nibbles received, the sender still holds the frame
//   complete  all nibbles received
//   damaged   below the window edge with bits missing or wrong, but every nibble has some bits
//             (kept only when damaged frames are wanted)
//   lost      below the window edge, not complete
//
// The length of a frame is known from any transmission of the whole frame (good or bad) or from its
// last fragment (rlc/unit.h); if the length of a lost frame is known, so is the position of its
// successor's nibbles.
//
// A frame's boundary is known from the grants (types/grant.h), or not known (yet).
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "rlc/sn_ring.h"
#include "rlc/unit.h"
#include "types/frame.h"
#include "types/grant.h"

namespace wip {

enum class frame_state : std::uint8_t { pending, complete, damaged, lost };

struct received_unit {
    frame_sn sn = 0;
    int bits_per_symbol = 0;
    bool whole = true;
    int offset = 0;
    bool last = true;
};

// A nibble of the stream; a frame's first one follows the last one of the frame before.
struct stream_position {
    frame_sn sn = 0;
    int nibble = 0;
    auto operator<=>(const stream_position&) const = default;
};

class receive_window {
public:
    // `room`: the part of a frame that carries the stream of packets (rlc/unit.h).
    receive_window(stream_room room, bool keep_damaged);

    frame_sn first() const { return frames_.first(); }
    frame_sn edge() const { return edge_; }
    frame_sn end() const { return frames_.end(); }

    // Forgets everything; the next frame to come is `sn`.
    void restart(frame_sn sn);
    // Sets the slot in which the next calls happen.
    void set_slot(std::int64_t now) { now_ = now; }
    std::int64_t now() const { return now_; }
    // A grant has announced the frames up to `end` (exclusive). It does not say whether they have
    // been received.
    void extend(frame_sn end);
    // The sender holds nothing before `edge`: what is not complete there is lost.
    void raise_edge(frame_sn edge);
    // Frames before `sn` are no longer needed. A pending one stays all the same, and so do those
    // after it: if they were forgotten, they would count as acknowledged without having arrived,
    // and error rate and goodput would look better than they are.
    void release(frame_sn sn);

    enum class put_result : std::uint8_t { fresh, duplicate, bad, invalid };
    // Stores the content of one bin. `good`: its CRC passed. `payload` is nibble-packed as in
    // slot_report; if it is too short, the missing bits count as bad.
    put_result put(const received_unit& unit, bool good, std::span<const std::uint8_t> payload);
    void tell_boundary(frame_sn sn, std::uint8_t boundary) {
        if (frames_.holds(sn)) frames_[sn].boundary = boundary;
    }
    // Whether every nibble of the unit is there already (also true for frames released: all of
    // them were complete, or are below the sender's edge).
    bool has(const received_unit& unit) const;

    frame_state state(frame_sn sn) const { return frames_[sn].state; }
    bool readable(frame_sn sn) const {
        return frames_.holds(sn) && (frames_[sn].state == frame_state::complete ||
                                     frames_[sn].state == frame_state::damaged);
    }
    // The slot in which its state became what it is; meaningful when it is not pending.
    std::int64_t resolved(frame_sn sn) const { return frames_[sn].resolved; }
    // Nibbles of the frame, 0 when not known (yet).
    int nibbles(frame_sn sn) const { return frames_[sn].nibbles; }
    const std::uint8_t* payload(frame_sn sn) const { return frames_[sn].payload.data(); }
    std::uint8_t boundary(frame_sn sn) const { return frames_[sn].boundary; }

    enum class read_result : std::uint8_t { ok, blocked, lost };
    // Reads n nibbles from `at` on, nibble-packed, into out. blocked: one of the frames that they
    // lie in is pending or not granted yet; lost: one of them is lost. `damaged` (may be null):
    // whether one of them is damaged.
    read_result read(stream_position at, int n, std::uint8_t* out, bool* damaged) const;

private:
    using nibble_set = std::array<std::uint64_t, 4>;
    struct frame {
        std::array<std::uint8_t, 108> payload{};  // the longest: 216 nibbles
        nibble_set good{};                        // nibbles received
        nibble_set present{};                     // nibbles with any bits
        std::uint8_t nibbles = 0;
        std::uint8_t boundary = unknown_boundary;
        frame_state state = frame_state::pending;
        std::int64_t resolved = 0;
    };
    void resolve(frame& f, frame_state state) const {
        f.state = state;
        f.resolved = now_;
    }
    bool learn_length(frame& f, const received_unit& unit, int& from, int& count) const;
    static void add(nibble_set& s, int from, int n);
    static bool covers(const nibble_set& s, int from, int n);   // all of them
    static bool touches(const nibble_set& s, int from, int n);  // any of them

    stream_room room_;
    bool keep_damaged_;
    sn_ring<frame> frames_{256};
    frame_sn edge_ = 0;
    std::int64_t now_ = 0;
};

}  // namespace wip
