// SPDX-License-Identifier: GPL-3.0-or-later
#include "station/frame_log.h"

#include <cassert>
#include <span>

#include "schema/frame_outcome_wire.h"

namespace wip::host {
namespace {

// The size of a frame in the columns, without its payload and packets: a rough figure for the
// window.
constexpr std::size_t column_bytes = 20;

}  // namespace

void frame_log::add_frame(const bin_grant& g, bin_index bin, std::uint8_t retransmissions, db snr,
                          std::span<const std::uint8_t> payload) {
    bin_.put(bin.n());
    bits_.put(g.bits_per_symbol);
    offset_.put(g.offset);
    whole_.put(g.whole);
    last_.put(g.last);
    retransmissions_.put(retransmissions);
    batch_.add_sn(g.sn);
    batch_.add_snr_db(snr.single());
    const int bits =
        payload.empty() ? 0 : frame_payload_bits(profile_, static_cast<int>(g.bits_per_symbol));
    assert(payload.size() == static_cast<std::size_t>(bits + 7) / 8);
    batch_.add_payload_bits(static_cast<std::uint32_t>(bits));
    batch_.mutable_payload()->append(reinterpret_cast<const char*>(payload.data()), payload.size());
    bytes_ += payload.size() + column_bytes;
}

void frame_log::close_slot(slot air, const std::string& grant) {
    if (bin_.entries == 0) return;
    auto& s = *batch_.add_slot();
    s.set_air(air.value);
    s.set_frames(static_cast<std::uint32_t>(bin_.entries));
    s.set_grant(grant);
    bytes_ += grant.size();
    bin_.append_to(*batch_.mutable_bin());
    bits_.append_to(*batch_.mutable_bits_per_symbol());
    offset_.append_to(*batch_.mutable_offset());
    whole_.append_to(*batch_.mutable_whole());
    last_.append_to(*batch_.mutable_last());
    retransmissions_.append_to(*batch_.mutable_retransmissions());
    outcome_.append_to(*batch_.mutable_outcome());
    combined_.append_to(*batch_.mutable_combined());
    nof_packets_.append_to(*batch_.mutable_nof_packets());
    border_.append_to(*batch_.mutable_border());
}

void frame_log::add(const slot_plan& plan, const std::string& grant, const slot_record& record,
                    const packet_journal& journal) {
    for (std::size_t b = 0; b < nof_bins; ++b) {
        if (plan.payload[b].empty()) continue;
        const bin_grant& g = plan.grant.bins[b];
        add_frame(g, bin_index(b), record.retransmissions[b], db(record.predicted_snr_db[b]),
                  plan.payload[b]);
        const int before = batch_.packet_size();
        journal.packets_in(static_cast<wire_sn>(g.sn),
                           [this](std::uint64_t number) { batch_.add_packet(number); });
        nof_packets_.put(batch_.packet_size() - before);
        border_.put(record.boundary[b]);
    }
    close_slot(plan.air, grant);
}

void frame_log::add(const slot_report& report, const std::string& grant) {
    for (std::size_t b = 0; b < nof_bins; ++b) {
        const bin_grant& g = report.grant.bins[b];
        if (report.outcome[b] == frame_outcome::unused || g.bits_per_symbol == 0) continue;
        add_frame(g, bin_index(b), g.retransmission ? 1 : 0, db(report.snr_db[b]),
                  report.payload[b]);
        outcome_.put(outcome_byte(report.outcome[b]));
        combined_.put(report.combined >> b & 1U);
    }
    close_slot(report.air, grant);
}

void frame_log::send() {
    const auto frames = static_cast<std::uint64_t>(batch_.bin().size());
    batch_.set_frames_before(frames_);
    frames_ += frames;
    auto& message = port_->message(topic::frames);
    // The old message's memory is taken for the next batch: no allocation.
    message.mutable_frames()->Swap(&batch_);
    port_->publish(topic::frames, window_.last(), user_);
    batch_.Clear();
    bytes_ = 0;
    window_.published();
}

}  // namespace wip::host
