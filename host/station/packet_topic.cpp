// SPDX-License-Identifier: GPL-3.0-or-later
#include "station/packet_topic.h"

#include <string.h>

#include <algorithm>
#include <string>

#include "types/grid.h"

namespace wip::host {
namespace {

constexpr std::int64_t batch_slots = slots_per_second / 100;

std::string reason(const packet_record& r) {
    std::string text = r.dropped;
    if (r.refused != 0) {  // the reason's name as in the sums of MacStatus: tun_write_EIO
        const char* name = strerrorname_np(r.refused);
        text += std::string("_") + (name != nullptr ? name : "error");
    }
    return text;
}

}  // namespace

void fill_packet(const packet_record& r, int user, openwip::telemetry::PacketRecord& out) {
    out.set_number(r.number);
    out.set_bytes(r.bytes);
    out.set_protocol(r.flow.protocol);
    out.set_source_port(r.flow.source_port);
    out.set_destination_port(r.flow.destination_port);
    out.set_tcp_sequence(r.flow.tcp_sequence);
    out.set_identification(r.flow.identification);
    out.set_user(static_cast<std::uint32_t>(user));
    out.set_uplink(r.uplink);
    out.set_wired_ns(r.wired_ns);
    out.set_arrived_ns(r.arrived_ns);
    out.set_left_ns(r.left_ns);
    out.set_queue_ns(r.parts.queue);
    out.set_scheduling_ns(r.parts.scheduling);
    out.set_air_ns(r.parts.air);
    out.set_retransmission_ns(r.parts.retransmission);
    out.set_reordering_ns(r.parts.reordering);
    out.set_frames(static_cast<std::uint32_t>(r.retransmissions.size()));
    *out.mutable_retransmissions() = {r.retransmissions.begin(), r.retransmissions.end()};
    *out.mutable_each_retransmission_ns() = {r.each_retransmission_ns.begin(),
                                             r.each_retransmission_ns.end()};
    out.set_damaged(r.damaged);
    out.set_sojourn_ns(r.sojourn_ns);
    out.set_marked(r.marked);
    if (r.first_pdu >= 0) {
        out.set_first_pdu(static_cast<std::uint32_t>(r.first_pdu));
        out.set_last_pdu(static_cast<std::uint32_t>(r.last_pdu));
    } else {
        out.clear_first_pdu();
        out.clear_last_pdu();
    }
    out.set_dropped(reason(r));
}

void packet_topic::begin() {
    credit_ = std::int64_t{per_second_} * slots_per_second;
    skipped_ = reported_skipped_ = 0;
    batch_.Clear();
}

void packet_topic::add(const packet_record& r, int user) {
    if (credit_ < slots_per_second) {
        ++skipped_;
        return;
    }
    credit_ -= slots_per_second;
    fill_packet(r, user, *batch_.add_packet());
}

void packet_topic::slot_done(slot now, std::uint64_t skipped, telemetry_port& out) {
    credit_ = std::min(credit_ + per_second_, std::int64_t{per_second_} * slots_per_second);
    if (now.value % batch_slots == 0) flush(now, skipped, out);
}

void packet_topic::flush(slot now, std::uint64_t skipped, telemetry_port& out) {
    const std::uint64_t all = skipped_ + skipped;
    if (batch_.packet_size() == 0 && all == reported_skipped_) return;
    reported_skipped_ = all;
    batch_.set_skipped(all);
    // The message's old records are cleared and kept for the next batch: no allocation.
    out.message(topic::packet).mutable_packets()->Swap(&batch_);
    batch_.Clear();
    out.publish(topic::packet, now);
}

}  // namespace wip::host
