// SPDX-License-Identifier: GPL-3.0-or-later
// Finds a packet boundary in the stream after a part of it is missing. Every nibble where a frame
// may have put a header (any; with packing off only the first of a frame) is tried:
//
//   IPv4  right header checksum (1 nibble in 1.5 million by chance), and what follows the packet
//         confirms it: another header, padding to the end of the frame (behind which a header must
//         begin the next one), or the end of the last frame that is there. What lies in a lost
//         frame contradicts nothing; nor does what lies in a damaged one if the candidate's own
//         header is undamaged; else it has to look like a header or like padding
//   IPv6  has no header checksum: the packet must be there in full and its TCP, UDP or ICMPv6
//         checksum must be right, and what follows must confirm it as above
//
// A candidate whose confirmation, or whose own header, has not come yet is kept while the search
// goes on (the last packet before the link goes quiet must not wait behind it); the earliest one
// that is confirmed wins.
//
// Protocols that few hosts use, TTL 0 and the reserved flag rule nothing out, but of random bits
// with a right checksum 29 in 30 have one of them. So of such a candidate, unless an IPv4 header
// follows it, and of one that is followed by an IPv6 header with an unknown next header, it is
// only said that it is likely: it wins when everything up to its end has been searched, and no
// candidate in between has been confirmed that does not end where it ends (a tunnel's inner packet
// does). A false one is most often long, and has true packets in it. An IPv6 candidate does not
// overtake an open IPv4 one that looks usual (it may be inside it).
//
// Time: every nibble is tried once, every candidate that waits (64 at most: then the search waits
// with them) judged once in a call. In a call IPv6 candidates of at most 4 MiB are followed to
// their ends, and at most 128 KiB of them summed up; those beyond that are passed over.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "rlc/receive_window.h"

namespace wip {

// Moves `at` on by `nibbles` as far as the frames' lengths are known; true when it got there.
// False: `at` is then where it stopped, a frame of unknown or no length.
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
    bool damaged = false;  // some of the bits read are of a damaged frame
    int version = 0;       // of a packet
    bool usual = false;    // of a packet: plausible_ip_header()
};
header_reading read_header(const receive_window& frames, stream_position at);

class boundary_search {
public:
    explicit boundary_search(bool every_nibble) : every_nibble_(every_nibble) {}

    // in_step: a header is due at `at`, however unusual it looks.
    void start(stream_position at, bool in_step = false);
    // Searches on through readable frames; the boundary once one is confirmed.
    std::optional<stream_position> advance(const receive_window& frames);
    // Nothing before this is needed any more.
    stream_position oldest() const { return open_.empty() ? at_ : open_.front().start; }
    // Everything before this has been searched.
    stream_position at() const { return at_; }

private:
    // likely: nothing contradicts it, see above.
    enum class verdict : std::uint8_t { confirmed, likely, open, rejected };
    struct candidate {
        stream_position start;
        stream_position end;       // reached so far
        std::size_t left = 0;      // nibbles from there to the end of the packet
        std::size_t bytes = 0;     // 0: its header is not there yet
        frame_sn complete_to = 0;  // of IPv6: its frames before this one are there as sent
        int version = 4;
        bool usual = false;    // plausible_ip_header(), or due where it is
        bool damaged = false;  // its header lies in a damaged frame
        bool summed = false;   // of IPv6: its transport's checksum is right
        verdict last = verdict::open;
    };
    // Fills the candidate at c.start in as far as its header is there. Rejected: it is none.
    verdict read_candidate(const receive_window& frames, candidate& c);
    verdict judge(const receive_window& frames, candidate& c);
    verdict judge_frames(const receive_window& frames, candidate& c) const;
    verdict judge_sum(const receive_window& frames, candidate& c);
    static verdict judge_end(const receive_window& frames, const candidate& c);
    // Of the first `kept` that are open and of `c`, which is confirmed: where the packet is, if
    // that is certain by now.
    std::optional<stream_position> settle(const candidate& c, std::size_t kept) const;
    std::optional<stream_position> judge_open(const receive_window& frames);
    std::optional<stream_position> scan(const receive_window& frames);
    std::optional<stream_position> likely_one() const;

    bool every_nibble_;
    stream_position at_;
    stream_position due_{-1, 0};  // where a header is due
    std::vector<candidate> open_;
    std::size_t may_sum_ = 0, may_follow_ = 0;  // bytes of IPv6 packets in this call
    std::vector<std::uint8_t> packet_;
};

}  // namespace wip
