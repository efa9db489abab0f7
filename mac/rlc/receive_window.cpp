// SPDX-License-Identifier: GPL-3.0-or-later
#include "rlc/receive_window.h"

#include <algorithm>

#include "rlc/unit.h"
#include "wire/nibbles.h"

namespace wip {
namespace {

// A frame of 8 bits per symbol is the longest.
constexpr int longest_frame_nibbles =
    frame_payload_nibbles(link_profile::wipemu, max_bits_per_symbol);

}  // namespace

receive_window::receive_window(stream_room room, bool keep_damaged)
    : room_(room), keep_damaged_(keep_damaged) {}

void receive_window::restart(frame_sn sn) {
    frames_.restart(sn);
    edge_ = sn;
}

void receive_window::extend(frame_sn end) {
    while (frames_.end() < end) frames_.push();
}

void receive_window::raise_edge(frame_sn edge) {
    for (; edge_ < edge; ++edge_) {
        if (edge_ < frames_.first()) continue;
        if (edge_ >= frames_.end()) frames_.push();
        frame& f = frames_[edge_];
        if (f.state != frame_state::pending) continue;
        const bool usable = keep_damaged_ && f.nibbles > 0 && covers(f.present, 0, f.nibbles);
        resolve(f, usable ? frame_state::damaged : frame_state::lost);
    }
}

void receive_window::release(frame_sn sn) {
    while (frames_.first() < sn && frames_.size() > 0 &&
           frames_[frames_.first()].state != frame_state::pending)
        frames_.pop();
}

namespace {

// The bits of one 64-nibble word of a nibble_set for the nibbles in from .. end - 1.
std::uint64_t nibbles_in_word(std::size_t word, int from, int end) {
    const auto below = [](int bits) {
        return bits <= 0 ? 0 : bits >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1;
    };
    const int first = 64 * static_cast<int>(word);
    return below(end - first) & ~below(from - first);
}

}  // namespace

void receive_window::add(nibble_set& s, int from, int n) {
    for (std::size_t w = 0; w < s.size(); ++w) s[w] |= nibbles_in_word(w, from, from + n);
}

bool receive_window::covers(const nibble_set& s, int from, int n) {
    for (std::size_t w = 0; w < s.size(); ++w)
        if ((nibbles_in_word(w, from, from + n) & ~s[w]) != 0) return false;
    return true;
}

bool receive_window::touches(const nibble_set& s, int from, int n) {
    for (std::size_t w = 0; w < s.size(); ++w)
        if ((nibbles_in_word(w, from, from + n) & s[w]) != 0) return true;
    return false;
}

// The part of the frame that the unit covers; false when the unit contradicts what is known.
bool receive_window::learn_length(frame& f, const received_unit& unit, int& from,
                                  int& count) const {
    const int room = room_.nibbles(unit.bits_per_symbol);
    from = unit.whole ? 0 : unit.offset;
    count = room;
    int length = 0;
    if (unit.whole) {
        length = room;
    } else if (unit.last) {
        const int k = frame_modulation_of_last(room_.profile, unit.offset, unit.bits_per_symbol);
        if (k == 0) return false;
        length = room_.nibbles(k);
        count = length - from;
    } else if (from + room >= room_.nibbles(max_bits_per_symbol)) {
        return false;
    }
    if (f.nibbles != 0 && length != 0 && f.nibbles != length) return false;
    if (f.nibbles != 0 && from + count > f.nibbles) return false;
    if (length != 0) f.nibbles = static_cast<std::uint8_t>(length);
    return true;
}

receive_window::put_result receive_window::put(const received_unit& unit, bool good,
                                               std::span<const std::uint8_t> payload) {
    if (unit.bits_per_symbol < 1 || unit.bits_per_symbol > max_bits_per_symbol || unit.offset < 0)
        return put_result::invalid;
    if (unit.sn < frames_.first()) return good ? put_result::duplicate : put_result::bad;
    if (!frames_.holds(unit.sn)) return put_result::invalid;
    frame& f = frames_[unit.sn];
    if (f.state != frame_state::pending) return good ? put_result::duplicate : put_result::bad;
    int from = 0, count = 0;
    if (!learn_length(f, unit, from, count)) return put_result::invalid;
    const bool has_payload = payload.size() >= (static_cast<std::size_t>(count) + 1) / 2;
    if (good && has_payload) {
        if (covers(f.good, from, count)) return put_result::duplicate;
        copy_nibbles(f.payload.data(), static_cast<std::size_t>(from), payload.data(), 0,
                     static_cast<std::size_t>(count));
        if (unit.whole) {
            resolve(f, frame_state::complete);
            return put_result::fresh;
        }
        add(f.good, from, count);
        add(f.present, from, count);
        if (f.nibbles != 0 && covers(f.good, 0, f.nibbles)) resolve(f, frame_state::complete);
        return put_result::fresh;
    }
    if (keep_damaged_ && has_payload) {
        if (!touches(f.good, from, count)) {
            copy_nibbles(f.payload.data(), static_cast<std::size_t>(from), payload.data(), 0,
                         static_cast<std::size_t>(count));
        } else {
            for (int i = 0; i < count; ++i)
                if (!covers(f.good, from + i, 1))
                    set_nibble(f.payload.data(), static_cast<std::size_t>(from + i),
                               get_nibble(payload.data(), static_cast<std::size_t>(i)));
        }
        add(f.present, from, count);
    }
    return put_result::bad;
}

bool receive_window::has(const received_unit& unit) const {
    if (unit.sn < frames_.first()) return true;
    if (!frames_.holds(unit.sn)) return false;
    const frame& f = frames_[unit.sn];
    if (f.state == frame_state::complete) return true;
    if (f.state != frame_state::pending) return false;
    if (unit.whole) return false;
    const int room = room_.nibbles(unit.bits_per_symbol);
    int count = room;
    if (unit.last) {
        const int k = frame_modulation_of_last(room_.profile, unit.offset, unit.bits_per_symbol);
        if (k == 0) return false;
        count = room_.nibbles(k) - unit.offset;
    }
    return count > 0 && unit.offset + count <= longest_frame_nibbles &&
           covers(f.good, unit.offset, count);
}

receive_window::read_result receive_window::read(stream_position at, int n, std::uint8_t* out,
                                                 bool* damaged) const {
    for (int done = 0; done < n;) {
        if (at.sn >= frames_.end() || at.sn < frames_.first()) return read_result::blocked;
        const frame& f = frames_[at.sn];
        if (f.state == frame_state::pending) return read_result::blocked;
        if (f.state == frame_state::lost) return read_result::lost;
        if (damaged != nullptr && f.state == frame_state::damaged) *damaged = true;
        const int nibbles_here = std::max(0, std::min(n - done, f.nibbles - at.nibble));
        copy_nibbles(out, static_cast<std::size_t>(done), f.payload.data(),
                     static_cast<std::size_t>(at.nibble), static_cast<std::size_t>(nibbles_here));
        done += nibbles_here;
        at = {at.sn + 1, 0};
    }
    return read_result::ok;
}

}  // namespace wip
