// SPDX-License-Identifier: GPL-3.0-or-later
#include "macd/slot_codec.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "schema/frame_outcome_wire.h"

namespace wip::host {
namespace {

// SNR values outside this are measurement failures (a NaN as well) and become the lower end.
constexpr float lowest_snr_db = -60;
constexpr float highest_snr_db = 100;

float sane_snr(float v) {
    return std::isfinite(v) ? std::clamp(v, lowest_snr_db, highest_snr_db) : lowest_snr_db;
}

template <class Repeated>
const char* read_snr(const Repeated& in, bool needed, std::array<float, nof_bins>& out) {
    if (in.size() != nof_bins) {
        out.fill(lowest_snr_db);
        return in.size() == 0 && !needed ? nullptr : "not 25 SNR values";
    }
    for (int b = 0; b < nof_bins; ++b) out[static_cast<std::size_t>(b)] = sane_snr(in.Get(b));
    return nullptr;
}

}  // namespace

void write_plan(const slot_plan& plan, openwip::slot_link::SlotPlan& out) {
    out.Clear();
    out.set_air(plan.air.value);
    auto& grant = *out.mutable_grant();
    grant.resize(grant_bytes);
    // The MAC packs only what fits; a grant that does not would be its bug.
    pack_grant(plan.grant, link_profile::radio,
               std::span<std::uint8_t, grant_bytes>(reinterpret_cast<std::uint8_t*>(grant.data()),
                                                    grant_bytes));
    for (std::size_t b = 0; b < nof_bins; ++b) {
        const auto& payload = plan.payload[b];
        if (payload.empty()) continue;
        auto& bin = *out.add_payload();
        bin.set_bin(static_cast<std::uint32_t>(b));
        bin.set_payload(payload.data(), payload.size());
    }
}

const char* read_report(const openwip::slot_link::SlotReport& in, link_profile profile,
                        slot_report& out) {
    if (!plausible_slot(in.air())) return "slot number out of range";
    out.air = slot(in.air());
    out.locked = in.locked();
    out.grant_ok = in.locked() && in.grant_ok();
    out.outcome.fill(frame_outcome::unused);
    out.combined = 0;
    for (auto& p : out.payload) p.clear();
    if (const char* why = read_snr(in.snr_db(), in.locked(), out.snr_db)) return why;
    if (const char* why = read_snr(in.predicted_snr_db(), in.locked(), out.predicted_snr_db))
        return why;
    out.grant = {};
    if (out.grant_ok) {
        if (in.grant().size() != grant_bytes) return "grant is not 30 bytes";
        const auto grant =
            unpack_grant(std::span<const std::uint8_t, grant_bytes>(
                             reinterpret_cast<const std::uint8_t*>(in.grant().data()), grant_bytes),
                         profile);
        if (!grant) return "grant does not unpack";
        out.grant = *grant;
    }
    std::uint32_t seen = 0;
    for (const auto& bin : in.bins()) {
        if (bin.bin() >= nof_bins) return "bin out of range";
        const std::size_t b = bin.bin();
        if ((seen >> b & 1U) != 0) return "bin reported twice";
        seen |= 1U << b;
        const auto outcome = outcome_from_wire(bin.outcome());
        if (!outcome) return "unknown frame outcome";
        const bool detected = *outcome == frame_outcome::good || *outcome == frame_outcome::bad;
        if (detected && !out.grant_ok) return "frame without a grant";
        if (detected) {
            const int k = out.grant.bins[b].bits_per_symbol;
            if (k == 0) return "frame in a bin that was not granted";
            const auto size = static_cast<std::size_t>(frame_payload_bytes(profile, k));
            const bool absent = bin.payload().empty() && *outcome == frame_outcome::bad;
            if (!absent && bin.payload().size() != size) return "frame payload of a wrong size";
            out.payload[b].assign(bin.payload().begin(), bin.payload().end());
        }
        out.outcome[b] = *outcome;
        if (bin.combined()) out.combined |= 1U << b;
    }
    return nullptr;
}

void write_feedback(const slot_feedback& feedback, openwip::uplink::Feedback& out) {
    out.Clear();
    out.set_air(feedback.air.value);
    out.set_grant_ok(feedback.grant_ok);
    out.set_ack(feedback.ack);
    if (feedback.prediction_nmse >= 0) out.set_prediction_nmse(feedback.prediction_nmse);
    for (const float snr : feedback.predicted_snr_db)
        out.add_predicted_snr_cdb(static_cast<std::int32_t>(std::lround(sane_snr(snr) * 100)));
}

const char* read_feedback(const openwip::uplink::Feedback& in, slot_feedback& out) {
    if (!plausible_slot(in.air())) return "feedback: slot number out of range";
    if (in.ack() >> nof_bins != 0) return "feedback: acknowledges a bin that does not exist";
    if (in.predicted_snr_cdb_size() != nof_bins) return "feedback: not 25 SNR values";
    out.air = slot(in.air());
    out.locked = true;
    out.grant_ok = in.grant_ok();
    out.ack = in.grant_ok() ? in.ack() : 0;
    out.prediction_nmse = in.has_prediction_nmse() && in.prediction_nmse() >= 0
                              ? in.prediction_nmse()
                              : std::numeric_limits<float>::quiet_NaN();
    for (int b = 0; b < nof_bins; ++b)
        out.predicted_snr_db[static_cast<std::size_t>(b)] =
            sane_snr(static_cast<float>(in.predicted_snr_cdb(b)) / 100);
    return nullptr;
}

}  // namespace wip::host
