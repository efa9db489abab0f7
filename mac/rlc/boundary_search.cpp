// SPDX-License-Identifier: GPL-3.0-or-later
#include "rlc/boundary_search.h"

#include <algorithm>
#include <array>

#include "wire/ip_header.h"
#include "wire/nibbles.h"

namespace wip {
namespace {

constexpr std::size_t most_candidates = 64;
constexpr std::size_t most_summed_bytes = 128 * 1024;
constexpr std::size_t most_followed_bytes = 4 * 1024 * 1024;  // random data: of 850 frames

bool rest_is_zero(const receive_window& frames, stream_position at) {
    for (int i = at.nibble; i < frames.nibbles(at.sn); ++i)
        if (get_nibble(frames.payload(at.sn), static_cast<std::size_t>(i)) != 0) return false;
    return true;
}

// The bits of a damaged frame at `at` are those of a header, but for a few errors. One with options
// or with a traffic class has to look usual. Bits of anything else pass 1 time in 75.
bool looks_like_header(const receive_window& frames, stream_position at) {
    using result = receive_window::read_result;
    std::array<std::uint8_t, max_ip_header_bytes> header{};
    if (frames.read(at, 2, header.data(), nullptr) != result::ok) return false;
    if (header[0] == 0x45 || header[0] == 0x60) return true;
    const std::size_t bytes = ip_header_bytes(header[0]);
    return bytes > 0 &&
           frames.read(at, static_cast<int>(2 * bytes), header.data(), nullptr) == result::ok &&
           plausible_ip_header(header);
}

// May padding reach from `at` to the end of the frame, as far as others are concerned? No frame is
// padding alone, and the next one begins with a header. Zeros in the data are often longer.
bool padding_fits(const receive_window& frames, stream_position at) {
    if (at.nibble == 0) return false;
    const stream_position next{at.sn + 1, 0};
    if (!frames.readable(next.sn)) return true;
    const header_reading h = read_header(frames, next);
    if (h.state != header_state::none && h.state != header_state::padding) return true;
    return h.damaged && looks_like_header(frames, next);
}

// As looks_like_header(), or as padding.
bool looks_like_border(const receive_window& frames, stream_position at) {
    if (looks_like_header(frames, at)) return true;
    int zeros = 0;
    for (int i = at.nibble; i < frames.nibbles(at.sn); ++i)
        zeros += get_nibble(frames.payload(at.sn), static_cast<std::size_t>(i)) == 0 ? 1 : 0;
    return 4 * zeros >= 3 * (frames.nibbles(at.sn) - at.nibble) && padding_fits(frames, at);
}

}  // namespace

bool move_on(const receive_window& frames, stream_position& at, std::size_t& nibbles) {
    while (nibbles > 0) {
        if (at.sn >= frames.end() || at.sn < frames.first()) return false;
        const int length = frames.nibbles(at.sn);
        if (length == 0) return false;
        const std::size_t here = static_cast<std::size_t>(length - at.nibble);
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

header_reading read_header(const receive_window& frames, stream_position at) {
    using result = receive_window::read_result;
    std::array<std::uint8_t, max_ip_header_bytes> header{};
    bool damaged = false;
    const auto unread = [](result r) {
        return header_reading{r == result::lost ? header_state::lost : header_state::blocked};
    };
    const auto without = [&damaged](header_state s) { return header_reading{s, 0, damaged}; };
    if (const auto r = frames.read(at, 1, header.data(), &damaged); r != result::ok)
        return unread(r);
    if (header[0] == 0) {
        return without(damaged && !rest_is_zero(frames, at) ? header_state::none
                                                            : header_state::padding);
    }
    if (const auto r = frames.read(at, 2, header.data(), &damaged); r != result::ok)
        return unread(r);
    const std::size_t bytes = ip_header_bytes(header[0]);
    if (bytes == 0) return without(header_state::none);
    if (const auto r = frames.read(at, static_cast<int>(2 * bytes), header.data(), &damaged);
        r != result::ok)
        return unread(r);
    const auto bits = std::span<const std::uint8_t>(header).first(bytes);
    const auto h = read_ip_header(bits);
    // Nothing vouches for an IPv6 header with bit errors.
    if (!h || (damaged && h->version == 6)) return without(header_state::none);
    return {header_state::packet, h->total_bytes, damaged, h->version, plausible_ip_header(bits)};
}

void boundary_search::start(stream_position at, bool in_step) {
    at_ = at;
    due_ = in_step ? at : stream_position{-1, 0};
    open_.clear();
}

boundary_search::verdict boundary_search::read_candidate(const receive_window& frames,
                                                         candidate& c) {
    using result = receive_window::read_result;
    std::array<std::uint8_t, max_ip_header_bytes> header{};
    const auto unread = [](result r) {
        return r == result::blocked ? verdict::open : verdict::rejected;
    };
    if (const auto r = frames.read(c.start, 2, header.data(), nullptr); r != result::ok)
        return unread(r);
    const std::size_t bytes = ip_header_bytes(header[0]);
    if (bytes == 0) return verdict::rejected;
    c.version = header[0] >> 4;
    // The first 8 bytes of an IPv6 header say what there is to say, and rule most nibbles out.
    const int needed = c.version == 6 ? 16 : static_cast<int>(2 * bytes);
    if (const auto r = frames.read(c.start, needed, header.data(), &c.damaged); r != result::ok)
        return unread(r);
    const auto bits = std::span<const std::uint8_t>(header).first(bytes);
    const auto h = read_ip_header(bits);
    if (!h) return verdict::rejected;
    c.usual = plausible_ip_header(bits) || c.start == due_;
    if (c.version == 6) {
        const std::uint8_t next = header[6];
        if (c.damaged || !c.usual || (next != 6 && next != 17 && next != 58))
            return verdict::rejected;
    }
    if (c.version == 6) {
        if (h->total_bytes > may_follow_) return verdict::rejected;
        may_follow_ -= h->total_bytes;
    }
    c.end = c.start;
    c.complete_to = c.start.sn;
    c.bytes = h->total_bytes;
    c.left = 2 * c.bytes;
    return verdict::open;
}

boundary_search::verdict boundary_search::judge_end(const receive_window& frames,
                                                    const candidate& c) {
    const stream_position e = c.end;
    const verdict by_chance = c.usual ? verdict::confirmed : verdict::likely;
    const bool readable = frames.readable(e.sn);
    if (e.nibble == 0 && !readable) return by_chance;  // ends with a frame
    if (e.sn >= frames.end()) return verdict::open;
    if (!readable && frames.state(e.sn) == frame_state::lost) return by_chance;
    const header_reading h = read_header(frames, e);
    switch (h.state) {
        case header_state::packet:
            if (h.version == 4) return verdict::confirmed;
            return h.usual ? by_chance : verdict::likely;
        case header_state::padding:
            return rest_is_zero(frames, e) && padding_fits(frames, e) ? by_chance
                                                                      : verdict::rejected;
        case header_state::none:
            if (!h.damaged) return verdict::rejected;
            return !c.damaged || looks_like_border(frames, e) ? by_chance : verdict::rejected;
        case header_state::lost:
            return by_chance;  // at least its first nibble looked right
        case header_state::blocked:
            return verdict::open;
    }
    return verdict::rejected;
}

// Are the frames of an IPv6 packet, as far as they are known, there as they were sent?
boundary_search::verdict boundary_search::judge_frames(const receive_window& frames,
                                                       candidate& c) const {
    const frame_sn end = c.end.nibble == 0 ? c.end.sn : c.end.sn + 1;
    for (; c.complete_to < end; ++c.complete_to) {
        const frame_state s = frames.state(c.complete_to);
        if (s == frame_state::pending) return verdict::open;
        if (s != frame_state::complete) return verdict::rejected;
    }
    return verdict::confirmed;
}

boundary_search::verdict boundary_search::judge_sum(const receive_window& frames, candidate& c) {
    if (c.summed) return verdict::confirmed;
    if (c.bytes > may_sum_) return verdict::rejected;
    may_sum_ -= c.bytes;
    packet_.resize(c.bytes);
    frames.read(c.start, static_cast<int>(2 * c.bytes), packet_.data(), nullptr);
    c.summed = ipv6_transport_checksum_ok(packet_);
    return c.summed ? verdict::confirmed : verdict::rejected;
}

boundary_search::verdict boundary_search::judge(const receive_window& frames, candidate& c) {
    if (c.bytes == 0) {
        if (read_candidate(frames, c) == verdict::rejected) return verdict::rejected;
        if (c.bytes == 0) return verdict::open;
    }
    const bool end_known = move_on(frames, c.end, c.left);
    if (c.version == 6)
        if (const verdict v = judge_frames(frames, c); v != verdict::confirmed) return v;
    if (!end_known) {
        // A frame of unknown length that is lost leaves the end open for ever.
        if (frames.end() > c.end.sn && frames.state(c.end.sn) == frame_state::lost)
            return verdict::rejected;
        return verdict::open;
    }
    const verdict v = judge_end(frames, c);
    if (c.version == 6 && (v == verdict::confirmed || v == verdict::likely) &&
        judge_sum(frames, c) == verdict::rejected)
        return verdict::rejected;
    return v;
}

std::optional<stream_position> boundary_search::settle(const candidate& c, std::size_t kept) const {
    const candidate* best = &c;
    for (std::size_t i = 0; i < kept; ++i) {
        const candidate& o = open_[i];
        // One whose header is still to come has nothing inside it that is there.
        if (c.version == 6 && o.version == 4 && o.usual && o.bytes > 0) return std::nullopt;
        if (o.last == verdict::likely && (o.end <= c.start || o.end == c.end) &&
            (best == &c || o.end < best->end))
            best = &o;
    }
    return best->start;
}

std::optional<stream_position> boundary_search::judge_open(const receive_window& frames) {
    std::size_t kept = 0;
    for (std::size_t i = 0; i < open_.size(); ++i) {
        candidate& c = open_[i];
        c.last = judge(frames, c);
        if (c.last == verdict::rejected) continue;
        if (c.last == verdict::confirmed)
            if (const auto found = settle(c, kept)) return found;
        open_[kept++] = c;
    }
    open_.resize(kept);
    return std::nullopt;
}

std::optional<stream_position> boundary_search::scan(const receive_window& frames) {
    for (;; at_ = {at_.sn + 1, 0}) {
        if (at_.sn >= frames.end()) return std::nullopt;
        const frame_state s = frames.state(at_.sn);
        if (s == frame_state::pending) return std::nullopt;
        if (s == frame_state::lost) continue;
        const int n = every_nibble_ ? frames.nibbles(at_.sn) : 1;
        for (; at_.nibble < n; ++at_.nibble) {
            const int version =
                get_nibble(frames.payload(at_.sn), static_cast<std::size_t>(at_.nibble));
            if (version != 4 && version != 6) continue;
            candidate c;
            c.start = at_;
            c.last = judge(frames, c);
            if (c.last == verdict::rejected) continue;
            if (c.last == verdict::confirmed)
                if (const auto found = settle(c, open_.size())) return found;
            if (open_.size() == most_candidates) return std::nullopt;  // on from here next time
            open_.push_back(c);
        }
    }
}

// Of the likely ones that have been searched to their ends: the one that ends first.
std::optional<stream_position> boundary_search::likely_one() const {
    const candidate* best = nullptr;
    for (const candidate& c : open_)
        if (c.last == verdict::likely && c.end <= at_ && (best == nullptr || c.end < best->end))
            best = &c;
    if (best == nullptr) return std::nullopt;
    return best->start;
}

std::optional<stream_position> boundary_search::advance(const receive_window& frames) {
    may_sum_ = most_summed_bytes;
    may_follow_ = most_followed_bytes;
    if (const auto found = judge_open(frames)) return found;
    if (const auto found = scan(frames)) return found;
    return likely_one();
}

}  // namespace wip
