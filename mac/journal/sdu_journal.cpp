// SPDX-License-Identifier: GPL-3.0-or-later
#include "journal/sdu_journal.h"

#include <algorithm>

namespace wip {

sdu_journal::entry* sdu_journal::find(std::uint64_t id) {
    const auto n = static_cast<std::int64_t>(id);
    return entries_.holds(n) ? &entries_[n] : nullptr;
}

void sdu_journal::offered(std::uint64_t id, std::span<const std::uint8_t> packet,
                          std::int64_t now_ns) {
    if (entries_.size() == 0) entries_.restart(static_cast<std::int64_t>(id));
    entry e;
    e.bytes = static_cast<std::uint32_t>(packet.size());
    e.flow = read_flow_fields(packet);
    e.offered_ns = now_ns;
    entries_.push() = e;
}

void sdu_journal::entered(std::uint64_t id, std::int64_t now_ns) {
    if (entry* e = find(id)) e->entered_ns = now_ns;
}

void sdu_journal::queued(std::uint64_t id, std::int64_t sojourn_ns, bool marked) {
    if (entry* e = find(id)) e->sojourn_ns = sojourn_ns, e->marked = marked;
}

void sdu_journal::placed(std::uint64_t id, std::int64_t first_sn, std::int64_t last_sn,
                         std::int64_t now_ns) {
    if (entry* e = find(id)) {
        e->first_sn = first_sn;
        e->last_sn = last_sn;
        // The packet is first in line once the last PDU of the packet before it was made.
        e->first_ns = std::max(e->entered_ns, made_ns_);
    }
    made_ns_ = now_ns;
}

void sdu_journal::on_further_pdu(std::uint64_t id, std::int64_t last_sn) {
    if (entry* e = find(id)) e->last_sn = last_sn;
}

void sdu_journal::sent(std::int64_t sn, bool again, std::int64_t start_ns, std::int64_t received_ns,
                       bool lost) {
    pdu& p = at(sn);
    if (!again) p = {start_ns, received_ns, -1, 0};
    if (again && p.again < 255) ++p.again;
    if (!lost && p.received_ns < 0) p.received_ns = received_ns;
}

void sdu_journal::left(std::uint64_t id, std::int64_t now_ns, const char* dropped,
                       std::int64_t wired_after_ns) {
    entry* e = find(id);
    if (!e || e->done) return;
    e->done = true;
    packet_record r;
    r.number = id;
    r.bytes = e->bytes;
    r.flow = e->flow;
    r.uplink = uplink_;
    r.arrived_ns = e->entered_ns < 0 ? now_ns : e->entered_ns;
    r.wired_ns = r.arrived_ns - e->offered_ns + wired_after_ns;
    r.left_ns = now_ns;
    r.dropped = dropped;
    r.sojourn_ns = e->sojourn_ns;
    r.marked = e->marked;
    // No limit lies before the one that precedes it, nor after the end.
    std::int64_t limit = r.arrived_ns;
    const auto part_until = [&](std::int64_t ns) {
        const std::int64_t from = limit;
        limit = std::clamp(ns, from, now_ns);
        return limit - from;
    };
    std::int64_t retransmission = 0;
    if (e->last_sn < 0) {
        r.parts.queue = part_until(now_ns);
    } else {
        std::int64_t there = 0;
        again_.clear();
        for (std::int64_t sn = e->first_sn; sn <= e->last_sn; ++sn) {
            again_.push_back(at(sn).again);
            there = at(sn).received_ns < 0 ? now_ns : std::max(there, at(sn).received_ns);
        }
        if (sn_modulus_ > 0) {
            r.first_pdu = static_cast<std::int32_t>(e->first_sn % sn_modulus_);
            r.last_pdu = static_cast<std::int32_t>(e->last_sn % sn_modulus_);
        }
        r.retransmissions = again_;
        r.parts.queue = part_until(e->first_ns);
        r.parts.scheduling = part_until(at(e->last_sn).start_ns);
        r.parts.air = part_until(at(e->last_sn).end_ns);
        r.parts.retransmission = retransmission = part_until(there);
        if (retransmission > 0) r.each_retransmission_ns = {&retransmission, 1};
        r.parts.reordering = part_until(now_ns);
    }
    take_(r);
    while (entries_.size() > 0 && entries_[entries_.first()].done) entries_.pop();
}

}  // namespace wip
