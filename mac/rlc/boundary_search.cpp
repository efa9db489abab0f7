// SPDX-License-Identifier: GPL-3.0-or-later
#include "rlc/boundary_search.h"

#include <algorithm>
#include <array>

#include "wire/ip_header.h"
#include "wire/nibbles.h"

namespace wip {
namespace {

constexpr std::size_t most_candidates = 64;

bool rest_is_zero(const receive_window& frames, stream_position at) {
    for (int i = at.nibble; i < frames.nibbles(at.sn); ++i)
        if (get_nibble(frames.payload(at.sn), static_cast<std::size_t>(i)) != 0) return false;
    return true;
}

// The bits of a damaged frame at `at` are those of a header without options or of padding, but for
// a few errors. Bits of anything else pass 1 time in 100, zeros aside.
bool looks_like_border(const receive_window& frames, stream_position at) {
    std::uint8_t first = 0;
    if (frames.read(at, 2, &first, nullptr) == receive_window::read_result::ok &&
        (first == 0x45 || first == 0x60))
        return true;
    int zeros = 0;
    for (int i = at.nibble; i < frames.nibbles(at.sn); ++i)
        zeros += get_nibble(frames.payload(at.sn), static_cast<std::size_t>(i)) == 0 ? 1 : 0;
    return 4 * zeros >= 3 * (frames.nibbles(at.sn) - at.nibble);
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
    return {header_state::packet, h->total_bytes, damaged,
            h->version == 4 || plausible_ip_header(bits)};
}

void boundary_search::start(stream_position at) {
    at_ = at;
    open_.clear();
}

boundary_search::verdict boundary_search::read_candidate(const receive_window& frames,
                                                         candidate& c) {
    using result = receive_window::read_result;
    const int version =
        get_nibble(frames.payload(c.start.sn), static_cast<std::size_t>(c.start.nibble));
    if (version != 4 && version != 6) return verdict::rejected;
    c.version = version;
    std::array<std::uint8_t, max_ip_header_bytes> header;
    if (const auto r = frames.read(c.start, 2, header.data(), nullptr); r != result::ok)
        return r == result::blocked ? verdict::open : verdict::rejected;
    const std::size_t bytes = ip_header_bytes(header[0]);
    if (bytes == 0) return verdict::rejected;
    const auto r = frames.read(c.start, static_cast<int>(2 * bytes), header.data(), &c.damaged);
    if (r != result::ok) return r == result::blocked ? verdict::open : verdict::rejected;
    const auto bits = std::span<const std::uint8_t>(header).first(bytes);
    if (!plausible_ip_header(bits)) return verdict::rejected;
    if (version == 6) {
        const std::uint8_t next = header[6];
        if (c.damaged || (next != 6 && next != 17 && next != 58)) return verdict::rejected;
    }
    c.end = c.start;
    c.bytes = read_ip_header(bits)->total_bytes;
    c.left = 2 * c.bytes;
    return verdict::open;
}

void boundary_search::scan(const receive_window& frames) {
    for (;; at_ = {at_.sn + 1, 0}) {
        if (at_.sn >= frames.end()) return;
        const frame_state s = frames.state(at_.sn);
        if (s == frame_state::pending) return;
        if (s == frame_state::lost) continue;
        const int n = every_nibble_ ? frames.nibbles(at_.sn) : 1;
        for (; at_.nibble < n; ++at_.nibble) {
            candidate c;
            c.start = at_;
            if (read_candidate(frames, c) != verdict::rejected && open_.size() < most_candidates)
                open_.push_back(c);
        }
    }
}

boundary_search::verdict boundary_search::judge_end(const receive_window& frames,
                                                    const candidate& c) {
    const stream_position e = c.end;
    const bool readable = frames.readable(e.sn);
    if (e.nibble == 0 && !readable) return verdict::confirmed;  // ends with a frame
    if (e.sn >= frames.end()) return verdict::open;
    if (!readable && frames.state(e.sn) == frame_state::lost) return verdict::confirmed;
    const header_reading h = read_header(frames, e);
    switch (h.state) {
        case header_state::packet:
            return h.vouched_for ? verdict::confirmed : verdict::rejected;
        case header_state::padding:
            return rest_is_zero(frames, e) ? verdict::confirmed : verdict::rejected;
        case header_state::none:
            if (!h.damaged) return verdict::rejected;
            return !c.damaged || looks_like_border(frames, e) ? verdict::confirmed
                                                              : verdict::rejected;
        case header_state::lost:
            return verdict::confirmed;  // at least its first nibble looked right
        case header_state::blocked:
            return verdict::open;
    }
    return verdict::rejected;
}

boundary_search::verdict boundary_search::judge(const receive_window& frames, candidate& c) {
    if (c.bytes == 0) {
        if (read_candidate(frames, c) == verdict::rejected) return verdict::rejected;
        if (c.bytes == 0) return verdict::open;
    }
    if (!move_on(frames, c.end, c.left)) {
        // A frame of unknown length that is lost leaves the end open for ever.
        if (frames.end() > c.end.sn && frames.state(c.end.sn) == frame_state::lost)
            return verdict::rejected;
        return verdict::open;
    }
    if (c.version == 6) {
        packet_.resize(c.bytes);
        bool damaged = false;
        switch (frames.read(c.start, static_cast<int>(2 * c.bytes), packet_.data(), &damaged)) {
            case receive_window::read_result::blocked:
                return verdict::open;
            case receive_window::read_result::lost:
                return verdict::rejected;
            case receive_window::read_result::ok:
                break;
        }
        if (damaged || !ipv6_transport_checksum_ok(packet_)) return verdict::rejected;
    }
    return judge_end(frames, c);
}

std::optional<stream_position> boundary_search::advance(const receive_window& frames) {
    scan(frames);
    bool ipv4_open = false;
    std::size_t kept = 0;
    for (std::size_t i = 0; i < open_.size(); ++i) {
        candidate& c = open_[i];
        const verdict v = judge(frames, c);
        if (v == verdict::confirmed && !(c.version == 6 && ipv4_open)) return c.start;
        if (v == verdict::rejected) continue;
        // One whose header is still to come has nothing inside it that is there.
        if (c.version == 4 && c.bytes > 0) ipv4_open = true;
        open_[kept++] = c;
    }
    open_.resize(kept);
    return std::nullopt;
}

}  // namespace wip
