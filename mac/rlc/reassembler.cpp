// SPDX-License-Identifier: GPL-3.0-or-later
#include "rlc/reassembler.h"

#include <algorithm>
#include <array>
#include <iterator>

#include "wire/ip_header.h"
#include "wire/nibbles.h"

namespace wip {
namespace {

constexpr std::size_t most_chains = 64;

bool rest_is_zero(const receive_window& frames, stream_position at) {
    for (int i = at.nibble; i < frames.nibbles(at.sn); ++i)
        if (get_nibble(frames.payload(at.sn), static_cast<std::size_t>(i)) != 0) return false;
    return true;
}

// Moves `at` on by `nibbles` as far as the frames' lengths are known; true when it got there.
// False: `at` is then where it stopped, a frame of unknown or no length.
bool move_on(const receive_window& frames, stream_position& at, std::size_t& nibbles) {
    while (nibbles > 0) {
        if (at.sn >= frames.end() || at.sn < frames.first()) return false;
        const int length = frames.nibbles(at.sn);
        if (length == 0) return false;
        // A boundary that was received before the frame's length was known may lie beyond it.
        const auto here = static_cast<std::size_t>(std::max(0, length - at.nibble));
        if (nibbles < here) {
            at.nibble += static_cast<int>(nibbles);
            nibbles = 0;
        } else {
            nibbles -= here;
            at = {at.sn + 1, 0};
        }
    }
    return true;
}

bool is_lost(const receive_window& frames, frame_sn sn) {
    return sn < frames.end() && frames.state(sn) == frame_state::lost;
}

// The first frame from `at` on that cannot be read (yet).
frame_sn first_unreadable(const receive_window& frames, stream_position at) {
    while (frames.readable(at.sn)) ++at.sn;
    return at.sn;
}

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
    std::size_t header_bytes = 0;
    bool damaged = false;  // some of the bits read are of a damaged frame
};

// The packet header at `at`.
header_reading read_header(const receive_window& frames, stream_position at) {
    using result = receive_window::read_result;
    std::array<std::uint8_t, max_ip_header_bytes> header{};
    bool damaged = false;
    const auto not_readable = [](result r) {
        return header_reading{r == result::lost ? header_state::lost : header_state::blocked};
    };
    const auto header_of_state = [&damaged](header_state s) {
        return header_reading{s, 0, 0, damaged};
    };
    if (const auto r = frames.read(at, 1, header.data(), &damaged); r != result::ok)
        return not_readable(r);
    if (header[0] == 0) {
        return header_of_state(damaged && !rest_is_zero(frames, at) ? header_state::none
                                                                    : header_state::padding);
    }
    if (const auto r = frames.read(at, 2, header.data(), &damaged); r != result::ok)
        return not_readable(r);
    const std::size_t bytes = ip_header_bytes(header[0]);
    if (bytes == 0) return header_of_state(header_state::none);
    if (const auto r = frames.read(at, static_cast<int>(2 * bytes), header.data(), &damaged);
        r != result::ok)
        return not_readable(r);
    const auto h = read_ip_header(std::span<const std::uint8_t>(header).first(bytes));
    // An IPv6 header has no checksum, so one with bit errors cannot be trusted.
    if (!h || (damaged && h->version == 6)) return header_of_state(header_state::none);
    return {header_state::packet, h->total_bytes, bytes, damaged};
}

}  // namespace

reassembler::reassembler(const reassembler_config& config, deliver_fn deliver)
    : config_(config),
      deliver_(std::move(deliver)),
      frames_({config.profile, config.header_nibbles}, config.deliver_corrupt) {
    restart(0);
}

void reassembler::restart(frame_sn sn) {
    if (!chains_.empty()) {
        cutting_off_ = true;
        frames_.raise_edge(frames_.end());
        advance();
        for (const chain& c : chains_) {
            for (const packet& p : c.packets)
                if (!p.done) lose(p.start, p.bytes);
            if (c.measuring > 0) lose(c.at, c.bytes);
        }
        cutting_off_ = false;
    }
    chains_.clear();
    frames_.restart(sn);
    chain& c = chains_.emplace_back();
    c.at = c.origin = {sn, 0};
    c.lost = true;
}

void reassembler::lose(stream_position start, std::size_t bytes) {
    ++(cutting_off_ ? counts_.cut_off_packets : counts_.lost_packets);
    (cutting_off_ ? counts_.cut_off_bytes : counts_.lost_bytes) += bytes;
    if (log_ == nullptr) return;
    packet_report entry;
    entry.sn = entry.last_frame = static_cast<wire_sn>(start.sn);
    entry.nibble = static_cast<std::uint8_t>(start.nibble);
    entry.end = packet_end::lost;
    entry.bytes = static_cast<std::uint32_t>(bytes);
    entry.complete = frames_.now();
    log_->add(entry);
}

void reassembler::report(const packet& p, packet_end end) const {
    if (log_ == nullptr) return;
    packet_report entry;
    entry.sn = entry.last_frame = static_cast<wire_sn>(p.start.sn);
    entry.nibble = static_cast<std::uint8_t>(p.start.nibble);
    entry.end = end;
    entry.bytes = static_cast<std::uint32_t>(p.bytes);
    entry.complete = frames_.resolved(p.start.sn);
    const frame_sn last = p.end.nibble == 0 ? p.end.sn - 1 : p.end.sn;
    for (frame_sn sn = p.start.sn + 1; sn <= last; ++sn) {
        if (frames_.resolved(sn) <= entry.complete) continue;
        entry.complete = frames_.resolved(sn);
        entry.last_frame = static_cast<wire_sn>(sn);
    }
    log_->add(entry);
}

// A packet begins at `at` and its header runs into a lost frame: count it, with its length when
// that much of the header is there. Damaged, it may be none, or of any length.
void reassembler::lose_packet_at(stream_position at) {
    std::array<std::uint8_t, 8> start{};
    bool damaged = false;
    const auto result = frames_.read(at, 12, start.data(), &damaged);
    if (!frames_.readable(at.sn) || damaged) return;
    if (result != receive_window::read_result::ok) return lose(at, 0);
    const std::size_t at_2 = static_cast<std::size_t>(start[2]) << 8 | start[3];
    const std::size_t at_4 = static_cast<std::size_t>(start[4]) << 8 | start[5];
    lose(at, start[0] >> 4 == 4 ? at_2 : 40 + at_4);
}

void reassembler::lose_boundary(chain& c, stream_position at) {
    if (&c == &chains_.front()) ++counts_.boundaries_lost;
    c.lost = true;
    c.measuring = 0;
    c.at = at;
}

bool reassembler::find_boundary(stream_position& at, std::uint64_t& passed_over) const {
    for (;; at = {at.sn + 1, 0}) {
        if (at.sn >= frames_.end()) return false;
        const std::uint8_t boundary = frames_.boundary(at.sn);
        if (boundary == unknown_boundary && at.sn >= frames_.edge()) return false;
        const int length = frames_.nibbles(at.sn);
        const bool here =
            boundary < no_boundary && boundary >= at.nibble && (length == 0 || boundary < length);
        if (frames_.readable(at.sn))
            passed_over +=
                static_cast<std::uint64_t>(std::max(0, (here ? boundary : length) - at.nibble));
        if (!here) continue;
        at.nibble = boundary;
        return true;
    }
}

bool reassembler::contradicted(stream_position at) const {
    const std::uint8_t boundary = frames_.boundary(at.sn);
    return boundary != unknown_boundary &&
           boundary > at.nibble;  // no_boundary is beyond all nibbles
}

reassembler::verdict reassembler::leads_to_boundary(stream_position at,
                                                    stream_position& next) const {
    const header_reading first = read_header(frames_, at);
    stream_position end = at;
    std::size_t header = 2 * first.header_bytes;
    move_on(frames_, end, header);
    frame_sn damaged = end.nibble == 0 ? end.sn - 1 : end.sn;
    while (frames_.state(damaged) != frame_state::damaged) --damaged;
    next = {damaged + 1, 0};
    std::uint64_t passed_over = 0;
    if (!find_boundary(next, passed_over)) return verdict::open;
    while (at < next) {
        if (at.sn > damaged || contradicted(at)) return verdict::no;
        const header_reading h = read_header(frames_, at);
        std::size_t left = 2 * h.bytes;
        if (h.state == header_state::blocked) return verdict::open;
        if (h.state == header_state::padding)
            at = {at.sn + 1, 0};
        else if (h.state != header_state::packet)
            return verdict::no;
        else if (!move_on(frames_, at, left))
            return at > next || is_lost(frames_, at.sn) ? verdict::no : verdict::open;
    }
    return at == next ? verdict::yes : verdict::no;
}

void reassembler::close_packet(chain& c) {
    for (frame_sn sn = c.at.sn; sn <= c.reached.sn && sn < frames_.end(); ++sn) {
        const stream_position boundary{sn, frames_.boundary(sn)};
        if (boundary.nibble >= no_boundary || boundary <= c.at || boundary >= c.reached) continue;
        lose(c.at, c.bytes);
        return lose_boundary(c, boundary);
    }
    c.packets.push_back({c.at, c.reached, c.bytes, c.at.sn});
    c.at = c.reached;
}

// The next chain's packets and its end become those of c when c has come to its beginning.
void reassembler::meet_next(chain_iterator c) {
    while (std::next(c) != chains_.end() && std::next(c)->origin <= c->at) {
        chain& n = *std::next(c);
        n.origin = c->origin;
        n.packets.insert(n.packets.begin(), c->packets.begin(), c->packets.end());
        *c = std::move(n);
        chains_.erase(std::next(c));
    }
}

frame_sn reassembler::follow(chain_iterator c) {
    for (;;) {
        meet_next(c);
        if (c->lost) {
            if (!find_boundary(c->at, counts_.unplaced_nibbles)) return c->at.sn;
            c->lost = false;
            continue;
        }
        if (c->measuring > 0) {
            if (move_on(frames_, c->reached, c->measuring)) {
                close_packet(*c);
                continue;
            }
            const frame_sn sn = c->reached.sn;
            if (!is_lost(frames_, sn)) return sn;
            lose(c->at, c->bytes);  // where it ends cannot be known
            lose_boundary(*c, {sn + 1, 0});
            continue;
        }
        if (c->at.sn >= frames_.end()) return c->at.sn;
        const header_reading h = read_header(frames_, c->at);
        const stream_position after{c->at.sn, c->at.nibble + 1};
        switch (h.state) {
            case header_state::packet:
                if (contradicted(c->at)) {
                    lose_boundary(*c, after);
                    break;
                }
                if (h.damaged && c->at >= c->led_to) {
                    stream_position next;
                    const verdict v = leads_to_boundary(c->at, next);
                    if (v == verdict::open) return next.sn;
                    if (v == verdict::yes)
                        c->led_to = next;
                    else
                        lose_boundary(*c, next);
                    break;
                }
                c->bytes = h.bytes;
                c->measuring = 2 * h.bytes;
                c->reached = c->at;
                break;
            case header_state::padding:
                c->at = {c->at.sn + 1, 0};
                break;
            case header_state::none:
                lose_boundary(*c, after);
                break;
            case header_state::lost:
                lose_packet_at(c->at);
                lose_boundary(*c, {first_unreadable(frames_, c->at) + 1, 0});
                break;
            case header_state::blocked:
                return first_unreadable(frames_, c->at);
        }
    }
}

void reassembler::begin_ahead(frame_sn after) {
    for (frame_sn sn = after + 1; sn < frames_.end(); ++sn) {
        if (frames_.boundary(sn) >= no_boundary) continue;
        chain& ahead = chains_.emplace_back();
        ahead.at = ahead.origin = {sn, frames_.boundary(sn)};
        return;
    }
}

void reassembler::advance() {
    for (auto c = chains_.begin(); c != chains_.end(); ++c) {
        const frame_sn stuck = follow(c);
        if (config_.in_order || std::next(c) != chains_.end() || chains_.size() >= most_chains)
            continue;
        begin_ahead(stuck);
    }
    deliver();
    release_frames();
}

bool reassembler::finish(packet& p) {
    const frame_sn last = p.end.nibble == 0 ? p.end.sn - 1 : p.end.sn;
    for (; p.complete_to <= last; ++p.complete_to) {
        switch (frames_.state(p.complete_to)) {
            case frame_state::pending:
                return false;
            case frame_state::lost:
                lose(p.start, p.bytes);
                p.done = true;
                return true;
            case frame_state::damaged:
                p.damaged = true;
                break;
            case frame_state::complete:
                break;
        }
    }
    p.done = true;
    buffer_.resize(p.bytes);
    frames_.read(p.start, static_cast<int>(2 * p.bytes), buffer_.data(), nullptr);
    ++counts_.delivered_packets;
    counts_.delivered_bytes += p.bytes;
    if (p.damaged) {
        ++counts_.damaged_packets;
        counts_.damaged_bytes += p.bytes;
    }
    report(p, p.damaged ? packet_end::damaged : packet_end::delivered);
    deliver_(buffer_, p.damaged);
    return true;
}

void reassembler::deliver() {
    for (chain& c : chains_) {
        for (packet& p : c.packets)
            if (!p.done && !finish(p) && config_.in_order) break;
        if (config_.in_order) break;
    }
    auto& first = chains_.front().packets;
    while (!first.empty() && first.front().done) first.pop_front();
}

void reassembler::release_frames() {
    const chain& c = chains_.front();
    frames_.release(c.packets.empty() ? c.at.sn : c.packets.front().start.sn);
}

}  // namespace wip
