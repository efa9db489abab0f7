// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/frame_batch.h"

#include <span>

namespace wip::host {
namespace {

using openwip::telemetry::FrameBatch;
using openwip::telemetry::FrameRecord;

void set_grant(const slot_grant& grant, link_profile profile, FrameBatch& out) {
    std::array<std::uint8_t, grant_bytes> packed;
    if (pack_grant(grant, profile, packed)) out.set_grant(packed.data(), packed.size());
}

FrameRecord& add_frame(const slot_grant& grant, std::size_t bin, link_profile profile, int user,
                       const std::vector<std::uint8_t>& payload, FrameBatch& out) {
    const bin_grant& g = grant.bins[bin];
    auto& f = *out.add_frame();
    f.set_bin(static_cast<std::uint32_t>(bin));
    f.set_bits_per_symbol(g.bits_per_symbol);
    f.set_sn(g.sn);
    f.set_offset(g.offset);
    f.set_whole(g.whole);
    f.set_last(g.last);
    f.set_user(static_cast<std::uint32_t>(user));
    f.set_payload(payload.data(), payload.size());
    if (!payload.empty())
        f.set_payload_bits(static_cast<std::uint32_t>(
            frame_payload_bits(profile, static_cast<int>(g.bits_per_symbol))));
    return f;
}

}  // namespace

bool fill_frames(const slot_plan& plan, const slot_record& record, link_profile profile, int user,
                 FrameBatch& out) {
    out.Clear();
    for (std::size_t b = 0; b < nof_bins; ++b) {
        if (plan.payload[b].empty()) continue;
        auto& f = add_frame(plan.grant, b, profile, user, plan.payload[b], out);
        f.set_retransmissions(record.retransmissions[b]);
        f.set_snr_db(record.predicted_snr_db[b]);
    }
    if (out.frame_size() == 0) return false;
    out.set_air(plan.air.value);
    set_grant(plan.grant, profile, out);
    return true;
}

bool fill_frames(const slot_report& report, link_profile profile, int user, FrameBatch& out) {
    out.Clear();
    for (std::size_t b = 0; b < nof_bins; ++b) {
        if (report.outcome[b] == frame_outcome::unused || report.grant.bins[b].bits_per_symbol == 0)
            continue;
        auto& f = add_frame(report.grant, b, profile, user, report.payload[b], out);
        f.set_retransmissions(report.grant.bins[b].retransmission ? 1 : 0);
        f.set_outcome(static_cast<std::uint32_t>(report.outcome[b]));
        f.set_snr_db(report.snr_db[b]);
        f.set_combined((report.combined >> b & 1U) != 0);
    }
    if (out.frame_size() == 0) return false;
    out.set_air(report.air.value);
    set_grant(report.grant, profile, out);
    return true;
}

}  // namespace wip::host
