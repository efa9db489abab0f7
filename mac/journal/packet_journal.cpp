// SPDX-License-Identifier: GPL-3.0-or-later
#include "journal/packet_journal.h"

#include <algorithm>

#include "types/slot_time.h"

namespace wip {
namespace {

constexpr std::int64_t end_of(std::int64_t s) { return slot_start_ns(slot(s + 1)); }

}  // namespace

packet_journal::packet_journal(sink_fn sink) : sink_(std::move(sink)) {}

void packet_journal::begin(sdu_number next, sdu_number queue_front, frame_sn next_sn) {
    end();
    store_ = std::make_unique<store>();
    count_ = {};
    store_->frames.restart(next_sn);
    store_->retransmissions.reserve(256);
    store_->each_ns.reserve(64);
    end_cut_ = std::min(queue_front, next);
    cut_ns_ = now_;
    uncut_ = undecided_ = 0;
    next_sn_ = edge_ = next_sn;
    reports_ = 0;
    received_ = false;
}

void packet_journal::end() {
    if (!store_) return;
    count_.skipped += count_.open();
    store_.reset();
}

frame_sn packet_journal::unwrap(wire_sn sn) const {
    return next_sn_ - static_cast<wire_sn>(next_sn_ - sn);
}

std::int64_t packet_journal::find(sdu_number n) const {
    const auto& packets = store_->packets;
    std::int64_t low = packets.first(), high = packets.end();
    while (low < high) {
        const std::int64_t middle = low + (high - low) / 2;
        (packets[middle].sdu < n ? low : high) = packets[middle].sdu < n ? middle + 1 : middle;
    }
    return low;
}

// Packets are in the order of the stream; those not cut into frames yet come after all others.
std::int64_t packet_journal::find_start(frame_sn sn, int nibble) const {
    const auto& packets = store_->packets;
    const auto before = [&](const packet_track& p) {
        if (p.start.sn < 0) return false;
        return p.start.sn != sn ? p.start.sn < sn : p.start.nibble < nibble;
    };
    std::int64_t low = packets.first(), high = packets.end();
    while (low < high) {
        const std::int64_t middle = low + (high - low) / 2;
        if (before(packets[middle]))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

void packet_journal::hand_out(const packet_record& r) {
    ++count_.recorded;
    sink_(r);
}

void packet_journal::skip(packet_track& p) {
    p.closed = true;
    ++count_.skipped;
}

void packet_journal::record_drop(const arrival& came, std::span<const std::uint8_t> packet,
                                 std::int64_t sojourn_ns, const char* why) {
    packet_record r;
    r.number = came.number;
    r.bytes = static_cast<std::uint32_t>(packet.size());
    r.flow = read_flow_fields(packet);
    r.arrived_ns = came.at_ns;
    r.left_ns = std::max(came.at_ns, now_);
    r.wired_ns = came.wired_ns;
    r.sojourn_ns = sojourn_ns;
    r.parts.queue = r.left_ns - r.arrived_ns;
    r.dropped = why;
    hand_out(r);
}

void packet_journal::on_refused(std::uint64_t number, std::span<const std::uint8_t> packet,
                                const char* why) {
    if (store_) record_drop({number, now_, wired_}, packet, 0, why);
}

void packet_journal::on_dropped_waiting(const arrival& came, std::span<const std::uint8_t> packet,
                                        std::int64_t sojourn_ns, const char* why) {
    if (!store_) return;
    record_drop(came, packet, sojourn_ns, why);
    // From now on the next packet is at the head of the queue.
    if (now_ > came.at_ns) cut_ns_ = now_;
}

void packet_journal::on_accepted(sdu_number n, const arrival& came,
                                 std::span<const std::uint8_t> packet, const queue_outcome& queue) {
    if (!store_) return;
    if (store_->packets.size() >= most_packets) {
        ++count_.skipped;
        return;
    }
    packet_track& p = store_->packets.push();
    p.sdu = n;
    p.record.number = came.number;
    p.record.bytes = static_cast<std::uint32_t>(packet.size());
    p.record.flow = read_flow_fields(packet);
    p.record.arrived_ns = came.at_ns;
    p.record.wired_ns = came.wired_ns;
    p.record.sojourn_ns = queue.sojourn_ns;
    p.record.marked = queue.marked;
    if (end_cut_ >= n) p.head_ns = std::max(came.at_ns, cut_ns_);
}

void packet_journal::on_frame(frame_sn sn, const transmit_window& window, sdu_number end_cut,
                              slot air) {
    if (!store_) return;
    auto& s = *store_;
    if (s.frames.size() >= most_frames) make_room();
    frame_track& f = s.frames.push();
    next_sn_ = sn + 1;
    const tx_frame& sent = window.frame(sn);
    f.first_sdu = sent.first_sdu;
    f.end_sdu = sent.end_sdu;
    if (end_cut > end_cut_) cut_ns_ = now_;
    end_cut_ = end_cut;
    std::int64_t i = std::max(uncut_, s.packets.first());
    for (; i < s.packets.end() && s.packets[i].sdu < f.end_sdu; ++i) {
        packet_track& p = s.packets[i];
        if (p.start.sn < 0) p.start = window.start_of(p.sdu);
        if (p.head_ns < 0) p.head_ns = now_;
        p.last_sn = sn;
        if (p.sdu >= end_cut) break;
        p.last_air = air.value;
    }
    uncut_ = i;
    // The next one is the first in the queue now.
    if (i < s.packets.end() && s.packets[i].sdu <= end_cut && s.packets[i].head_ns < 0)
        s.packets[i].head_ns = now_;
}

void packet_journal::on_repeated(frame_sn sn, int retransmissions, slot air) {
    if (!store_ || !store_->frames.holds(sn)) return;
    auto& s = *store_;
    frame_track& f = s.frames[sn];
    f.retransmissions =
        std::max(f.retransmissions, static_cast<std::uint8_t>(std::min(retransmissions, 255)));
    s.events[static_cast<std::size_t>(s.next_event) % most_events] = {air.value, f.last_event};
    f.last_event = s.next_event++;
}

void packet_journal::on_dropped(frame_sn sn) {
    if (!store_ || !store_->frames.holds(sn)) return;
    auto& packets = store_->packets;
    const frame_track& f = store_->frames[sn];
    for (std::int64_t i = find(f.first_sdu); i < packets.end() && packets[i].sdu < f.end_sdu; ++i)
        packets[i].dropped = true;
}

// Packets stay, with their frames, until the base station can send nothing of them any more.
void packet_journal::on_edge(frame_sn edge) {
    if (!store_) return;
    edge_ = edge;
    auto& packets = store_->packets;
    while (packets.size() > 0 && packets[packets.first()].closed &&
           packets[packets.first()].last_sn < edge_)
        packets.pop();
    frame_sn needed = edge_;
    if (packets.size() > 0 && packets[packets.first()].start.sn >= 0)
        needed = std::min(needed, packets[packets.first()].start.sn);
    while (store_->frames.size() > 0 && store_->frames.first() < needed) store_->frames.pop();
}

// Called when the ring of frames is full: the oldest packet has waited for so many frames that its
// 16-bit SNs are no longer unique, and no report could be matched to it.
void packet_journal::make_room() {
    auto& s = *store_;
    const frame_sn oldest = s.frames.first();
    for (std::int64_t i = s.packets.first(); i < s.packets.end(); ++i) {
        packet_track& p = s.packets[i];
        if (p.start.sn < 0 || p.start.sn > oldest) break;
        if (!p.closed) skip(p);
    }
    s.frames.pop();
}

void packet_journal::fill_parts(const packet_track& p, const packet_report& report,
                                packet_record& r) const {
    // Times that the packet did not reach are set to its end.
    const std::int64_t end = r.left_ns;
    const auto limit = [&](std::int64_t before, bool known, std::int64_t at) {
        return known ? std::clamp(at, before, std::max(before, end)) : std::max(before, end);
    };
    const bool sent = p.last_air >= 0;
    const std::int64_t head = limit(r.arrived_ns, p.head_ns >= 0, p.head_ns);
    const std::int64_t on_air = limit(head, sent, slot_start_ns(slot(p.last_air)));
    const std::int64_t off_air = limit(on_air, sent, end_of(p.last_air));
    const std::int64_t complete =
        limit(off_air, sent && report.end != packet_end::lost, end_of(report.complete));
    r.left_ns = std::max(complete, end);
    r.parts = {head - r.arrived_ns, on_air - head, off_air - on_air, complete - off_air,
               r.left_ns - complete};
}

void packet_journal::fill_retransmissions(const packet_track& p, const packet_report& report,
                                          packet_record& r) {
    auto& s = *store_;
    s.retransmissions.clear();
    s.each_ns.clear();
    for (frame_sn sn = p.start.sn; sn >= 0 && sn <= p.last_sn && s.frames.holds(sn); ++sn)
        s.retransmissions.push_back(s.frames[sn].retransmissions);
    r.retransmissions = s.retransmissions;
    const frame_sn last = unwrap(report.last_frame);
    if (report.end == packet_end::lost || p.last_air < 0 || !s.frames.holds(last)) return;
    // From the newest event back, first as slot numbers; several pieces in the same slot count
    // once.
    for (std::int64_t e = s.frames[last].last_event;
         e >= 0 && s.next_event - e <= static_cast<std::int64_t>(most_events);) {
        const event& sent = s.events[static_cast<std::size_t>(e) % most_events];
        if (sent.air <= p.last_air || s.each_ns.size() == 64) break;
        if (sent.air <= report.complete && (s.each_ns.empty() || s.each_ns.back() != sent.air))
            s.each_ns.push_back(sent.air);
        e = sent.previous;
    }
    // So many retransmissions of other frames followed that those of this one are no longer known.
    if (s.each_ns.empty() && report.complete > p.last_air) s.each_ns.push_back(report.complete);
    std::ranges::reverse(s.each_ns);
    std::int64_t from = end_of(p.last_air);
    for (std::int64_t& each : s.each_ns) {
        const std::int64_t to = end_of(each);
        each = to - from;
        from = to;
    }
    r.each_retransmission_ns = s.each_ns;
}

void packet_journal::close(packet_track& p, const packet_report& report, slot now) {
    packet_record r = p.record;
    r.left_ns = end_of(now.value);
    r.damaged = report.end == packet_end::damaged;
    if (report.end == packet_end::lost)
        r.dropped = p.dropped ? "retransmissions_exceeded" : "lost_frame";
    if (report.end == packet_end::refused) {
        r.dropped = "tun_write";
        r.refused = report.error;
    }
    fill_parts(p, report, r);
    fill_retransmissions(p, report, r);
    p.closed = true;
    hand_out(r);
}

void packet_journal::on_report(const packet_report& report, slot now) {
    auto& packets = store_->packets;
    const std::int64_t i = find_start(unwrap(report.sn), report.nibble);
    if (i >= packets.end()) {
        ++count_.unmatched;
        return;
    }
    packet_track& p = packets[i];
    const bool is_its_report = p.start.sn == unwrap(report.sn) && p.start.nibble == report.nibble &&
                               (report.bytes == 0 || report.bytes == p.record.bytes);
    if (!is_its_report || p.closed)
        ++count_.unmatched;
    else
        close(p, report, now);
}

void packet_journal::on_reports(std::span<const packet_report> reports, std::uint64_t count,
                                wire_sn decided_before, slot now) {
    if (!store_) return;
    const bool none_missing = !received_ || reports_ + reports.size() == count;
    received_ = true;
    reports_ = count;
    for (const packet_report& report : reports) on_report(report, now);
    auto& packets = store_->packets;
    const frame_sn decided = unwrap(decided_before);
    for (undecided_ = std::max(undecided_, packets.first()); undecided_ < packets.end();
         ++undecided_) {
        packet_track& p = packets[undecided_];
        if (p.closed) continue;
        if (p.start.sn < 0 || p.start.sn >= decided) break;
        if (none_missing) {
            packet_report unknown;
            unknown.end = packet_end::lost;
            close(p, unknown, now);
        } else {
            skip(p);
        }
    }
}

}  // namespace wip
