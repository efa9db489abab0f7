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
        return header_reading{r == result::lost ? header_state::lost : header_state::blocked, 0, 0};
    };
    if (const auto r = frames.read(at, 1, header.data(), &damaged); r != result::ok)
        return unread(r);
    if (header[0] == 0) {
        if (damaged && !rest_is_zero(frames, at)) return {header_state::none, 0, 0};
        return {header_state::padding, 0, 0};
    }
    if (const auto r = frames.read(at, 2, header.data(), &damaged); r != result::ok)
        return unread(r);
    const std::size_t bytes = ip_header_bytes(header[0]);
    if (bytes == 0) return {header_state::none, 0, 0};
    if (const auto r = frames.read(at, static_cast<int>(2 * bytes), header.data(), &damaged);
        r != result::ok)
        return unread(r);
    const auto h = read_ip_header(std::span(header).first(bytes));
    // Nothing vouches for an IPv6 header with bit errors.
    if (!h || (damaged && h->version == 6)) return {header_state::none, 0, 0};
    return {header_state::packet, h->total_bytes, h->version};
}

void boundary_search::start(stream_position at) {
    at_ = at;
    open_.clear();
}

void boundary_search::scan(const receive_window& frames) {
    std::array<std::uint8_t, max_ip_header_bytes> header;
    using result = receive_window::read_result;
    for (;; at_ = {at_.sn + 1, 0}) {
        if (at_.sn >= frames.end()) return;
        const frame_state s = frames.state(at_.sn);
        if (s == frame_state::pending) return;
        if (s == frame_state::lost) continue;
        const int n = every_nibble_ ? frames.nibbles(at_.sn) : 1;
        for (; at_.nibble < n; ++at_.nibble) {
            const std::uint8_t version =
                get_nibble(frames.payload(at_.sn), static_cast<std::size_t>(at_.nibble));
            if (version != 4 && version != 6) continue;
            // A header that runs into a frame not there yet: wait with it.
            result r = frames.read(at_, 2, header.data(), nullptr);
            if (r == result::blocked) return;
            const std::size_t bytes = r == result::ok ? ip_header_bytes(header[0]) : 0;
            if (bytes == 0) continue;
            bool damaged = false;
            r = frames.read(at_, static_cast<int>(2 * bytes), header.data(), &damaged);
            if (r == result::blocked) return;
            const auto bits = std::span<const std::uint8_t>(header).first(bytes);
            if (r != result::ok || !plausible_ip_header(bits)) continue;
            const auto h = read_ip_header(bits);
            if (h->version == 6) {
                const std::uint8_t next = header[6];
                if (damaged || (next != 6 && next != 17 && next != 58)) continue;
            }
            if (open_.size() < most_candidates)
                open_.push_back({at_, at_, 2 * h->total_bytes, h->total_bytes, h->version});
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
            return verdict::confirmed;
        case header_state::padding:
            return rest_is_zero(frames, e) ? verdict::confirmed : verdict::rejected;
        case header_state::none:
            return verdict::rejected;
        case header_state::lost:
            return verdict::confirmed;  // at least its first nibble looked right
        case header_state::blocked:
            return verdict::open;
    }
    return verdict::rejected;
}

boundary_search::verdict boundary_search::judge(const receive_window& frames, candidate& c) {
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
        if (c.version == 4) ipv4_open = true;
        open_[kept++] = c;
    }
    open_.resize(kept);
    return std::nullopt;
}

}  // namespace wip
