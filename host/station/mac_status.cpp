// SPDX-License-Identifier: GPL-3.0-or-later
#include "station/mac_status.h"

#include "queue/packet_queue.h"
#include "station/packet_gate.h"

namespace wip::host {
namespace {

using google::protobuf::FieldDescriptor;
using openwip::control::Direction;

// Adds every unsigned counter of a flat message, repeated ones by index, messages in it likewise.
void add_counters(google::protobuf::Message& sum, const google::protobuf::Message& more) {
    const auto& d = *sum.GetDescriptor();
    const auto& to = *sum.GetReflection();
    const auto& from = *more.GetReflection();
    for (int i = 0; i < d.field_count(); ++i) {
        const FieldDescriptor* f = d.field(i);
        if (f->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
            if (!f->is_repeated() && from.HasField(more, f))
                add_counters(*to.MutableMessage(&sum, f), from.GetMessage(more, f));
        } else if (f->cpp_type() != FieldDescriptor::CPPTYPE_UINT64) {
            continue;
        } else if (!f->is_repeated()) {
            to.SetUInt64(&sum, f, to.GetUInt64(sum, f) + from.GetUInt64(more, f));
        } else {
            for (int k = 0; k < from.FieldSize(more, f); ++k) {
                const auto n = from.GetRepeatedUInt64(more, f, k);
                if (k < to.FieldSize(sum, f))
                    to.SetRepeatedUInt64(&sum, f, k, to.GetRepeatedUInt64(sum, f, k) + n);
                else
                    to.AddUInt64(&sum, f, n);
            }
        }
    }
}

void add_drops(Direction& sum, const Direction& more) {
    for (const auto& drop : more.dropped()) {
        openwip::control::Drop* place = nullptr;
        for (auto& d : *sum.mutable_dropped())
            if (d.reason() == drop.reason()) place = &d;
        if (place == nullptr) {
            place = sum.add_dropped();
            place->set_reason(drop.reason());
        }
        add_counters(*place->mutable_count(), drop.count());
    }
}

}  // namespace

void add_up(openwip::control::MacStatus& sum, const openwip::control::MacStatus& more) {
    add_counters(*sum.mutable_downlink(), more.downlink());
    add_counters(*sum.mutable_uplink(), more.uplink());
    add_drops(*sum.mutable_downlink(), more.downlink());
    add_drops(*sum.mutable_uplink(), more.uplink());
    if (more.has_base()) add_counters(*sum.mutable_base(), more.base());
    if (more.has_bearer()) add_counters(*sum.mutable_bearer(), more.bearer());
    if (more.has_terminal()) add_counters(*sum.mutable_terminal(), more.terminal());
    add_counters(*sum.mutable_uplink_feedback(), more.uplink_feedback());
}

void fill_rules(const std::vector<extension::rule_cost>& costs,
                openwip::control::MacStatus& status) {
    for (const auto& c : costs) extension::fill(c, *status.add_own_rules());
}

void fill_base(const base_statistics& s, openwip::control::MacStatus& status) {
    auto& b = *status.mutable_base();
    b.set_slots_planned(s.slots_planned);
    b.set_frames_sent(s.frames_sent);
    b.set_frames_acknowledged(s.frames_acknowledged);
    b.set_frames_failed(s.frames_failed);
    b.set_frames_given_up(s.frames_dropped);
    b.set_frames_split(s.frames_split);
    b.set_feedback_missing(s.feedback_missing);
    b.set_grant_overflows(s.grant_overflows);
    b.set_window_stalls(s.window_stalls);
    *b.mutable_modulation_histogram() = {s.modulation.begin(), s.modulation.end()};
    *b.mutable_retransmission_histogram() = {s.retransmissions.begin(), s.retransmissions.end()};
    b.set_payload_bits_acknowledged(s.payload_bits_acknowledged);
    b.set_feedback_rejected(s.feedback_rejected);
    b.set_slots_not_sent(s.slots_not_sent);
}

void fill_downlink_sent(const base_statistics& s, openwip::control::Direction& d) {
    set(*d.mutable_in(), s.in);
    set(*d.mutable_delivered(), s.sent);
    set(*d.mutable_queued(), s.queued);
    if (s.marked.packets > 0) set(*d.mutable_marked(), s.marked);
    add_drop(d, "queue_full", s.dropped_queue_full);
    add_drop(d, managed_drop, s.dropped_queue_managed);
    add_drop(d, "not_ip", s.dropped_not_ip);
    add_drop(d, "retransmissions_exceeded", s.dropped_retransmissions);
}

void add_wired(const link_sums& to_base, const link_sums& from_base,
               openwip::control::MacStatus& status) {
    const auto add = [](openwip::control::PacketsBytes& c, const packets_bytes& more) {
        c.set_packets(c.packets() + more.packets);
        c.set_bytes(c.bytes() + more.bytes);
    };
    // `in` of a MAC is what came out of the wired network, or went into the queue directly.
    add(*status.mutable_downlink()->mutable_in(), to_base.in - to_base.delivered);
    for (const auto& [wired, d] : {std::pair(&to_base, status.mutable_downlink()),
                                   std::pair(&from_base, status.mutable_uplink())}) {
        add(*d->mutable_queued(), wired->queued);
        if (wired->marked.packets > 0) add(*d->mutable_marked(), wired->marked);
        for (const auto& drop : wired->dropped) add_drop(*d, drop.reason, drop.count);
    }
}

void fill_terminal(const terminal_statistics& s, openwip::control::MacStatus& status) {
    auto& t = *status.mutable_terminal();
    set(*t.mutable_delivered_damaged(), s.delivered_damaged);
    t.set_resynchronised(s.resynchronised);
    t.set_bytes_unplaced(s.bytes_unplaced);
    t.set_started_over(s.started_over);
    t.set_slots(s.slots);
    t.set_slots_unlocked(s.slots_unlocked);
    t.set_grants_failed(s.grants_failed);
    t.set_frames_good(s.frames_good);
    t.set_frames_bad(s.frames_bad);
    t.set_frames_duplicate(s.frames_duplicate);
    t.set_frames_combined(s.frames_combined);
}

void fill_downlink_received(const terminal_statistics& s, openwip::control::Direction& d) {
    const auto& over = s.dropped_start_over;
    set(*d.mutable_in(), {s.delivered.packets + s.dropped_lost_frame.packets + over.packets,
                          s.delivered.bytes + s.dropped_lost_frame.bytes + over.bytes});
    d.mutable_queued();
    add_drop(d, "lost_frame", s.dropped_lost_frame);
    add_drop(d, "start_over", over);
}

void fill_uplink_sent(const uplink_statistics& s, const packets_bytes& unsent,
                      openwip::control::MacStatus& status) {
    auto& up = *status.mutable_uplink();
    set(*up.mutable_in(), s.in);
    set(*up.mutable_delivered(),
        {s.delivered.packets - unsent.packets, s.delivered.bytes - unsent.bytes});
    set(*up.mutable_queued(), s.queued);
    if (s.marked.packets > 0) set(*up.mutable_marked(), s.marked);
    add_drop(up, "queue_full", s.dropped_queue_full);
    add_drop(up, managed_drop, s.dropped_queue_managed);
    add_drop(up, "uplink_loss", s.dropped_lost);
    add_drop(up, "not_ip", s.dropped_not_ip);
    add_drop(up, "no_connection", unsent);
    set(*status.mutable_uplink_feedback(), s.feedback);
}

}  // namespace wip::host
