// SPDX-License-Identifier: GPL-3.0-or-later
// Finds a packet boundary in the stream after a part of it is missing. Every nibble where a frame
// may have put a header (any; with packing off only the first of a frame) is tried:
//
//   IPv4  right checksum of a plausible header (1 in 2 million by chance), and what follows the
//   packet confirms it:
//         another plausible header, padding to the end of the frame, or the end of the last frame
//         that is there. What lies in a damaged frame contradicts nothing if the candidate's own
//         header is undamaged; else it has to look like a header or like padding
//   IPv6  has no header checksum: the packet must be there in full and its TCP, UDP or ICMPv6
//         checksum must be right, and what follows must confirm it as above
//
// A candidate whose confirmation, or whose own header, has not come yet is kept while the search
// goes on (the last packet before the link goes quiet must not wait behind it); the earliest one
// that is confirmed wins. An IPv6 candidate does not overtake an open IPv4 one (it may be
// inside it).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "rlc/receive_window.h"

namespace wip {

// Moves `at` on by `nibbles` as far as the frames' lengths are known; true when it got there.
// `unknown` is then where it stopped: a frame of unknown or no length.
bool move_on(const receive_window& frames, stream_position& at, std::size_t& nibbles);

// The packet header at `at` in a stream that is in step.
enum class header_state : std::uint8_t {
    packet,   // `bytes` long
    padding,  // nothing more in this frame
    none,     // the bits are no header
    blocked,  // not there yet
    lost      // a frame with a part of it is lost
};
struct header_reading {
    header_state state = header_state::blocked;
    std::size_t bytes = 0;
    bool damaged = false;      // some of the bits read are of a damaged frame
    bool vouched_for = false;  // of a packet: by its checksum, or a plausible IPv6 header
};
header_reading read_header(const receive_window& frames, stream_position at);

class boundary_search {
public:
    explicit boundary_search(bool every_nibble) : every_nibble_(every_nibble) {}

    void start(stream_position at);
    // Searches on through readable frames; the boundary once one is confirmed.
    std::optional<stream_position> advance(const receive_window& frames);
    // Nothing before this is needed any more.
    stream_position oldest() const { return open_.empty() ? at_ : open_.front().start; }
    // Everything before this has been searched.
    stream_position at() const { return at_; }

private:
    struct candidate {
        stream_position start;
        stream_position end;    // reached so far
        std::size_t left = 0;   // nibbles from there to the end of the packet
        std::size_t bytes = 0;  // 0: its header is not there yet
        int version = 4;
        bool damaged = false;  // its header lies in a damaged frame
    };
    enum class verdict : std::uint8_t { confirmed, open, rejected };
    // Fills the candidate at c.start in as far as its header is there. Rejected: it is none.
    static verdict read_candidate(const receive_window& frames, candidate& c);
    void scan(const receive_window& frames);
    verdict judge(const receive_window& frames, candidate& c);
    verdict judge_end(const receive_window& frames, const candidate& c);

    bool every_nibble_;
    stream_position at_;
    std::vector<candidate> open_;
    std::vector<std::uint8_t> packet_;
};

}  // namespace wip
