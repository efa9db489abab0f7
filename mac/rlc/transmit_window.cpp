// SPDX-License-Identifier: GPL-3.0-or-later
#include "rlc/transmit_window.h"

#include <algorithm>
#include <cassert>
#include <iterator>

#include "wire/clear_nibbles.h"
#include "wire/nibbles.h"

namespace wip {

transmit_window::transmit_window(stream_room room, frame_sn first)
    : room_(room), frames_(256, first) {}

void transmit_window::on_sdu(std::size_t bytes) {
    sdus_.push().bytes = bytes;
    ++totals_.held_packets;
    totals_.held_bytes += bytes;
}

void transmit_window::release(const sdu& s) {
    --totals_.held_packets;
    totals_.held_bytes -= s.bytes;
}

arq_unit transmit_window::open_frame(int bits_per_symbol, segmenter& from) {
    assert(!full());
    arq_unit u;
    u.sn = frames_.end();
    tx_frame& f = frames_.push();
    f.bits_per_symbol = static_cast<std::uint8_t>(bits_per_symbol);
    f.nibbles = static_cast<std::uint8_t>(room_.nibbles(bits_per_symbol));
    const auto cut = from.take(f.nibbles, std::span(f.payload).first((f.nibbles + 1U) / 2));
    f.sdu_nibbles = static_cast<std::uint8_t>(cut.nibbles);
    f.first_sdu = cut.first_sdu;
    f.end_sdu = cut.end_sdu;
    if (f.sdu_nibbles < f.nibbles) f.boundary = f.sdu_nibbles;
    std::size_t nibble = 0;
    for (sdu_number n = cut.first_sdu; n < cut.end_sdu; ++n) {
        sdu& s = sdus_[n];
        ++s.frames;
        if (s.nibbles_cut == 0) {
            s.start = {u.sn, static_cast<int>(nibble)};
            f.boundary = std::min(f.boundary, static_cast<std::uint8_t>(nibble));
        }
        const std::size_t part = std::min(2 * s.bytes - s.nibbles_cut, f.sdu_nibbles - nibble);
        s.nibbles_cut += part;
        nibble += part;
    }
    for (; cut_ < cut.end_cut; ++cut_) sdus_[cut_].cut = true;
    if (next_boundary_needed_) need_boundary(u.sn);
    next_boundary_needed_ = next_boundary_needed_ && f.boundary == no_boundary;
    u.length = f.nibbles;
    u.bits_per_symbol = f.bits_per_symbol;
    return u;
}

transmit_window::answer transmit_window::acknowledge(const arq_unit& unit) {
    answer a;
    if (!is_open(unit.sn)) return a;
    tx_frame& f = frames_[unit.sn];
    f.acknowledged = static_cast<std::uint8_t>(f.acknowledged + unit.length);
    assert(f.acknowledged <= f.nibbles);
    a.sdu_bits =
        4 * std::max(0, std::min<int>(unit.offset + unit.length, f.sdu_nibbles) - unit.offset);
    if (f.acknowledged == f.nibbles) {
        a.frame_done = true;
        close(unit.sn, false);
    }
    return a;
}

transmit_window::answer transmit_window::fail(const arq_unit& unit, int max_retransmissions) {
    answer a;
    if (!is_open(unit.sn)) return a;
    if (unit.retransmissions < max_retransmissions) {
        put_waiting(unit);
        return a;
    }
    a.dropped = true;
    const auto from = waiting_.lower_bound(key{unit.sn, 0});
    const auto to = waiting_.lower_bound(key{unit.sn + 1, 0});
    waiting_.erase(from, to);
    close(unit.sn, true);
    return a;
}

void transmit_window::close(frame_sn sn, bool dropped) {
    tx_frame& f = frames_[sn];
    f.open = false;
    f.dropped = dropped;
    if (dropped) {
        pending_boundaries_.erase(sn);
        need_boundaries_after(sn);
    }
    for (sdu_number n = f.first_sdu; n < f.end_sdu; ++n) {
        sdu& s = sdus_[n];
        --s.frames;
        if (dropped && !s.dropped) {
            s.dropped = true;
            ++totals_.dropped_packets;
            totals_.dropped_bytes += s.bytes;
            release(s);
        }
        finish_sdu(n);
    }
    while (sdus_.size() > 0 && sdus_[sdus_.first()].cut && sdus_[sdus_.first()].frames == 0)
        sdus_.pop();
    advance_edge();
}

void transmit_window::finish_sdu(sdu_number n) {
    const sdu& s = sdus_[n];
    if (!s.cut || s.frames > 0 || s.dropped) return;
    ++totals_.sent_packets;
    totals_.sent_bytes += s.bytes;
    release(s);
}

// A frame's boundary is the nibble at which the first packet that begins in it begins. After a
// dropped frame the receiver goes on there, so it has to know it.
void transmit_window::need_boundary(frame_sn sn) {
    tx_frame& f = frames_[sn];
    if (f.boundary_needed) return;
    f.boundary_needed = true;
    if (f.boundary_report == tx_frame::report::no && !f.dropped) pending_boundaries_.insert(sn);
}

void transmit_window::need_boundaries_after(frame_sn sn) {
    // If a frame's boundary is needed and no packet begins in it, those of the frames after it are
    // needed already.
    const auto passes_need_on = [this](const tx_frame& f) {
        return f.boundary_needed && f.boundary == no_boundary;
    };
    if (passes_need_on(frames_[sn])) return;
    for (++sn; sn < frames_.end(); ++sn) {
        if (passes_need_on(frames_[sn])) return;
        need_boundary(sn);
        if (frames_[sn].boundary != no_boundary) return;
    }
    next_boundary_needed_ = true;
}

void transmit_window::resolve_boundary(frame_sn sn, bool received) {
    if (!frames_.holds(sn)) return;
    tx_frame& f = frames_[sn];
    f.boundary_report = received ? tx_frame::report::yes : tx_frame::report::no;
    if (!received && f.boundary_needed && !f.dropped) pending_boundaries_.insert(sn);
    if (received) advance_edge();
}

std::size_t transmit_window::take_boundaries(std::span<boundary_run> out, int bits) {
    std::size_t runs = 0;
    while (!pending_boundaries_.empty() && runs < out.size()) {
        const frame_sn first = *pending_boundaries_.begin();
        frame_sn last = first;
        auto end = std::next(pending_boundaries_.begin());
        for (; end != pending_boundaries_.end() && *end == last + 1 &&
               frames_[last].boundary == no_boundary;
             ++end)
            ++last;
        boundary_run& run = out[runs];
        run = {static_cast<wire_sn>(first), static_cast<std::uint16_t>(last - first + 1),
               frames_[last].boundary};
        bits -= boundary_run_bits(run, runs == 0 ? nullptr : &out[runs - 1],
                                  static_cast<wire_sn>(next_sn()));
        if (bits < 0) {
            run = {};
            break;
        }
        pending_boundaries_.erase(pending_boundaries_.begin(), end);
        ++runs;
    }
    return runs;
}

void transmit_window::resolve_boundaries(const boundary_run& run, bool received) {
    const frame_sn first = unwrap(run.first);
    for (frame_sn sn = first; sn < first + run.frames; ++sn) resolve_boundary(sn, received);
}

void transmit_window::advance_edge() {
    while (frames_.size() > 0) {
        const tx_frame& f = frames_[frames_.first()];
        const bool reported = f.boundary_report == tx_frame::report::yes;
        if (f.open || (f.boundary_needed && !reported && !f.dropped)) return;
        frames_.pop();
    }
}

std::size_t transmit_window::first_waiting(std::span<arq_unit> out) const {
    std::size_t n = 0;
    for (auto it = waiting_.begin(); it != waiting_.end() && n < out.size(); ++it)
        out[n++] = it->second;
    return n;
}

void transmit_window::take_waiting(const arq_unit& unit) {
    waiting_.erase(key{unit.sn, unit.offset});
}

void transmit_window::put_waiting(const arq_unit& unit) {
    waiting_.insert_or_assign(key{unit.sn, unit.offset}, unit);
}

void transmit_window::write_payload(const arq_unit& unit, std::span<std::uint8_t> out) const {
    const tx_frame& f = frames_[unit.sn];
    const int room = room_.nibbles(unit.bits_per_symbol);
    const int n = std::min(room, f.nibbles - unit.offset);
    copy_nibbles(out.data(), 0, f.payload.data(), unit.offset, static_cast<std::size_t>(n));
    clear_nibbles_from(out, static_cast<std::size_t>(n));
}

bool transmit_window::is_whole(const arq_unit& unit) const {
    return unit.offset == 0 && unit.bits_per_symbol == frames_[unit.sn].bits_per_symbol;
}

bool transmit_window::is_last(const arq_unit& unit) const {
    return reaches_end(room_.profile, unit.offset, unit.bits_per_symbol, frames_[unit.sn].nibbles);
}

}  // namespace wip
