// SPDX-License-Identifier: GPL-3.0-or-later
#include "station/slot_sample.h"

#include <span>
#include <string>

#include "schema/frame_outcome_wire.h"
#include "types/bin.h"

namespace wip::host {
namespace {

using openwip::telemetry::SlotSample;

void set_bytes(std::span<const std::uint8_t, nof_bins> values, std::string& out) {
    out.resize(nof_bins);
    for (std::size_t b = 0; b < nof_bins; ++b) out[b] = static_cast<char>(values[b]);
}

void set_outcomes(std::span<const frame_outcome, nof_bins> outcomes, std::string& out) {
    out.resize(nof_bins);
    for (std::size_t b = 0; b < nof_bins; ++b) out[b] = outcome_byte(outcomes[b]);
}

template <class Field>
void set_floats(const std::array<float, nof_bins>& values, Field& out) {
    out = {values.begin(), values.end()};
}

frame_outcome outcome_of(const slot_record& r, bin_index bin) {
    if (r.bits_per_symbol[bin.n()] == 0) return frame_outcome::unused;
    if (!r.heard) return frame_outcome::unknown;
    return bin.in(r.acknowledged) ? frame_outcome::good : frame_outcome::bad;
}

}  // namespace

void fill_sample(const slot_record& r, SlotSample& out) {
    out.Clear();
    if (r.predicted) set_floats(r.predicted_snr_db, *out.mutable_predicted_snr_db());
    set_bytes(r.bits_per_symbol, *out.mutable_bits_per_symbol());
    set_bytes(r.retransmissions, *out.mutable_retransmissions());
    std::array<frame_outcome, nof_bins> outcome;
    for (std::size_t b = 0; b < nof_bins; ++b) outcome[b] = outcome_of(r, bin_index(b));
    set_outcomes(outcome, *out.mutable_outcome());
    out.set_queued_packets(r.queued_packets);
    out.set_queued_bytes(r.queued_bytes);
}

void fill_sample(const slot_report& r, int horizon, SlotSample& out) {
    out.Clear();
    out.set_locked(r.locked);
    if (r.locked) {
        set_floats(r.snr_db, *out.mutable_snr_db());
        set_floats(r.predicted_snr_db, *out.mutable_predicted_snr_db());
        out.set_horizon(static_cast<std::uint32_t>(horizon));
    }
    auto& bits = *out.mutable_bits_per_symbol();
    bits.resize(nof_bins);
    for (std::size_t b = 0; b < nof_bins; ++b)
        bits[b] = static_cast<char>(r.grant.bins[b].bits_per_symbol);
    set_outcomes(r.outcome, *out.mutable_outcome());
    out.set_combined(r.combined);
}

}  // namespace wip::host
