// SPDX-License-Identifier: GPL-3.0-or-later
#include "receiver_message.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "schema/frame_outcome_wire.h"
#include "types/point_code.h"

namespace wip {

namespace {

constexpr std::array mode_names{"searching", "confirming", "holding", "synchronised", "locked"};

}  // namespace

void fill_report(const phy::received_slot& received, std::int64_t air,
                 openwip::slot_link::SlotReport& out) {
    out.Clear();
    out.set_air(air);
    out.set_locked(received.locked);
    out.set_grant_ok(received.grant_ok);
    if (received.locked && received.grant_ok) {
        out.set_grant(received.packed.data(), received.packed.size());
        for (std::uint32_t b = 0; b < nof_bins; ++b) {
            const auto& result = received.bins[b];
            if (result.outcome == frame_outcome::unused) continue;
            auto* bin = out.add_bins();
            bin->set_bin(b);
            bin->set_outcome(outcome_to_wire(result.outcome));
            bin->set_payload(result.payload.data(), result.payload.size());
            bin->set_combined(result.combined);
        }
    }
    out.mutable_snr_db()->Add(received.snr_db.begin(), received.snr_db.end());
    out.mutable_predicted_snr_db()->Add(received.predicted_snr_db.begin(),
                                        received.predicted_snr_db.end());
}

void fill_state(const phy::receiver_state& s, openwip::receiver::State& out) {
    out.set_locked(s.locked);
    out.set_cfo_hz(s.cfo_hz);
    out.set_timing_samples(s.timing_samples);
    out.set_evm_percent(s.evm_percent);
    out.set_locks(s.locks);
    out.set_lock_losses(s.lock_losses);
    out.set_prediction_nmse(s.prediction_nmse);
    out.set_rx_level_dbfs(s.level_dbfs);
    out.set_mode(mode_names[static_cast<std::size_t>(s.mode)]);
    out.set_cell(s.cell);
    out.set_candidates(s.candidates);
    out.set_synchronisations(s.synchronisations);
    out.set_candidates_refuted(s.candidates_refuted);
    out.set_holds(s.holds);
    out.set_losses_pilots(s.losses_pilots);
    out.set_losses_gap(s.losses_gap);
    out.set_losses_jump(s.losses_jump);
    out.set_grants_failed(s.grants_failed);
}

named_values values_of(const openwip::receiver::State& state) {
    using field = google::protobuf::FieldDescriptor;
    const auto& type = *state.GetDescriptor();
    const auto& read = *state.GetReflection();
    named_values out;
    for (int i = 0; i < type.field_count(); ++i) {
        const auto* f = type.field(i);
        if (f->is_repeated()) continue;
        auto& value = out[f->name()];
        switch (f->cpp_type()) {
            case field::CPPTYPE_BOOL:
                value = read.GetBool(state, f);
                break;
            case field::CPPTYPE_INT32:
                value = std::int64_t{read.GetInt32(state, f)};
                break;
            case field::CPPTYPE_UINT32:
                value = std::int64_t{read.GetUInt32(state, f)};
                break;
            case field::CPPTYPE_UINT64:
                value = static_cast<std::int64_t>(read.GetUInt64(state, f));
                break;
            case field::CPPTYPE_DOUBLE:
                value = read.GetDouble(state, f);
                break;
            default:
                value = read.GetString(state, f);
        }
    }
    return out;
}

void fill_detail(const phy::received_slot& received, std::span<const float> spectrum_dbfs,
                 openwip::slot_link::ReceiverDetail& out) {
    out.Clear();
    out.mutable_spectrum_dbfs()->Add(spectrum_dbfs.begin(), spectrum_dbfs.end());
    if (!received.locked) return;
    auto& points = *out.mutable_points();
    for (const auto& bin : received.bins) {
        if (bin.outcome == frame_outcome::unused) continue;
        for (const auto& symbol : bin.symbols) {
            points.push_back(point_code(symbol.real()));
            points.push_back(point_code(symbol.imag()));
        }
    }
    const float scale = std::pow(10.0F, received.unit_dbfs / 20);
    for (const auto& h : received.channel) {
        out.add_channel(h.real() * scale);
        out.add_channel(h.imag() * scale);
    }
    for (const float noise : received.bin_noise)
        out.add_noise_dbfs(10 * std::log10(std::max(noise, 1e-20F)) + received.unit_dbfs);
}

}  // namespace wip
