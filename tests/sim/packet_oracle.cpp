// SPDX-License-Identifier: GPL-3.0-or-later
#include "packet_oracle.h"

#include <algorithm>
#include <numeric>
#include <stdexcept>
#include <string>

#include "types/frame.h"

namespace wip::sim {
namespace {

// The start of a slot, computed otherwise than by the function under test: in thirds of a
// nanosecond, rounded down.
std::int64_t start(std::int64_t slot) { return (slot * 2'000'000 - (slot * 2'000'000) % 3) / 3; }

}  // namespace

void packet_oracle::wrong(const packet_record& r, const char* what, std::int64_t expected,
                          std::int64_t got) const {
    throw std::logic_error("record of packet " + std::to_string(r.number) + ": " + what + " is " +
                           std::to_string(got) + ", not " + std::to_string(expected));
}

void packet_oracle::on_offer(int bytes, std::int64_t arrived_ns, const char* refused) {
    packet p;
    p.refused = refused;
    p.bytes = bytes;
    p.arrived = arrived_ns;
    p.left = 2 * bytes;
    packets_.push_back(p);
}

void packet_oracle::on_accepted() {
    packet& p = packets_.back();
    p.accepted = true;
    if (queue_.empty()) p.head = p.arrived;
    queue_.push_back(packets_.size() - 1);
}

void packet_oracle::on_plan(const slot_plan& plan, std::int64_t now_ns) {
    for (const bin_grant& g : plan.grant.bins) {
        if (g.bits_per_symbol == 0) continue;
        if (g.retransmission) {
            frame& f = frames_[unwrap(g.sn)];
            if (g.whole)
                ++f.whole_repeats;
            else
                f.in_pieces = true;
            continue;
        }
        const std::int64_t sn = next_sn_++;
        frame& f = frames_[sn];
        f.length = frame_payload_nibbles(link_.profile, g.bits_per_symbol);
        for (int room = f.length; room > 0 && !queue_.empty();) {
            packet& p = packets_[queue_.front()];
            const int part = std::min(room, p.left);
            if (p.left == 2 * p.bytes) {
                p.first_sn = sn;
                starts_.push_back({sn, f.length - room, queue_.front()});
            }
            p.last_sn = sn;
            p.left -= part;
            room -= part;
            if (p.left > 0) break;
            p.last_air = plan.air.value;
            queue_.pop_front();
            if (!queue_.empty()) packets_[queue_.front()].head = now_ns;
            if (!link_.packing) break;
        }
    }
}

std::int64_t packet_oracle::packet_at(wire_sn sn, int nibble) const {
    const auto place = std::pair(unwrap(sn), nibble);
    const auto it = std::ranges::lower_bound(
        starts_, place, {}, [](const packet_start& s) { return std::pair(s.sn, s.nibble); });
    if (it == starts_.end() || std::pair(it->sn, it->nibble) != place) return -1;
    return static_cast<std::int64_t>(it->packet);
}

void packet_oracle::on_report(const slot_report& report) {
    if (!report.locked || !report.grant_ok) return;
    for (std::size_t b = 0; b < nof_bins; ++b) {
        const bin_grant& g = report.grant.bins[b];
        if (g.bits_per_symbol == 0 || report.outcome[b] != frame_outcome::good) continue;
        frame& f = frames_[unwrap(g.sn)];
        if (f.complete >= 0) continue;
        const int from = g.retransmission && !g.whole ? g.offset : 0;
        const int to =
            std::min(f.length, from + frame_payload_nibbles(link_.profile, g.bits_per_symbol));
        for (int i = from; i < to; ++i) f.there.set(static_cast<std::size_t>(i));
        if (static_cast<int>(f.there.count()) == f.length) f.complete = report.air.value;
    }
}

void packet_oracle::on_delivered(std::uint64_t number, bool damaged, std::int64_t air) {
    packet& p = packets_.at(number);
    p.delivered = true;
    p.damaged = damaged;
    p.delivered_in = air;
}

void packet_oracle::on_record(const packet_record& r) {
    const auto equal = [&](const char* what, std::int64_t expected, std::int64_t got) {
        if (expected != got) wrong(r, what, expected, got);
    };
    if (r.number >= packets_.size()) wrong(r, "number", 0, -1);
    packet& p = packets_[r.number];
    equal("a second record", 0, p.recorded ? 1 : 0);
    p.recorded = true;
    equal("bytes", p.bytes, r.bytes);
    equal("arrived", p.arrived, r.arrived_ns);
    equal("the sum of the parts", r.left_ns - r.arrived_ns, r.parts.sum());
    for (const std::int64_t part : {r.parts.queue, r.parts.scheduling, r.parts.air,
                                    r.parts.retransmission, r.parts.reordering})
        if (part < 0) wrong(r, "a part", 0, part);
    if (!p.accepted) {
        equal(p.refused, 1, std::string(r.dropped) == p.refused ? 1 : 0);
        equal("total", 0, r.parts.sum());
        ++dropped_;
        return;
    }
    const std::string dropped = r.dropped;
    equal(dropped.empty() ? "delivered" : "dropped", p.delivered ? 0 : 1, dropped.empty() ? 0 : 1);
    if (!p.delivered) {
        if (dropped != "retransmissions_exceeded" && dropped != "lost_frame")
            wrong(r, "the reason", 0, 1);
        if (dropped == "lost_frame") ++lost_;
        ++dropped_;
        return;
    }
    equal("damaged", p.damaged ? 1 : 0, r.damaged ? 1 : 0);
    equal("left", start(p.delivered_in + 1), r.left_ns);
    equal("queue", p.head - p.arrived, r.parts.queue);
    equal("scheduling", start(p.last_air) - p.head, r.parts.scheduling);
    equal("air", start(p.last_air + 1) - start(p.last_air), r.parts.air);
    equal("frames", p.last_sn - p.first_sn + 1,
          static_cast<std::int64_t>(r.retransmissions.size()));
    std::int64_t complete = p.last_air;
    for (std::int64_t sn = p.first_sn; sn <= p.last_sn; ++sn) {
        const frame& f = frames_.at(sn);
        const int got = r.retransmissions[static_cast<std::size_t>(sn - p.first_sn)];
        // Frames that went whole only: as often as they were sent again. Pieces: at least once.
        if (!f.in_pieces) equal("retransmissions", f.whole_repeats, got);
        if (f.in_pieces && got == 0) wrong(r, "retransmissions", 1, 0);
        if (f.complete < 0 && !p.damaged) wrong(r, "a frame not there", 0, sn);
        complete = std::max(complete, f.complete);
    }
    if (p.damaged) {
        ++damaged_;
        return;
    }
    equal("retransmission", start(complete + 1) - start(p.last_air + 1), r.parts.retransmission);
    equal("each retransmission", r.parts.retransmission,
          std::accumulate(r.each_retransmission_ns.begin(), r.each_retransmission_ns.end(),
                          std::int64_t{0}));
    equal("reordering", start(p.delivered_in + 1) - start(complete + 1), r.parts.reordering);
    if (r.parts.retransmission > 0) ++waited_;
    if (r.parts.reordering > 0) ++reordered_;
    ++compared_;
}

std::int64_t packet_oracle::undelivered() const {
    for (const packet_start& start : starts_) {
        const packet& p = packets_[start.packet];
        if (p.delivered || p.last_air < 0) continue;
        bool all = true;
        for (std::int64_t sn = p.first_sn; sn <= p.last_sn && all; ++sn)
            all = frames_.at(sn).acknowledged;
        if (all) return static_cast<std::int64_t>(start.packet);
    }
    return -1;
}

void packet_oracle::all_recorded(std::uint64_t skipped) const {
    std::uint64_t missing = 0;
    for (const packet& p : packets_) missing += p.recorded ? 0 : 1;
    if (missing != skipped)
        throw std::logic_error(std::to_string(missing) + " packets without a record, " +
                               std::to_string(skipped) + " counted as skipped");
}

}  // namespace wip::sim
