// SPDX-License-Identifier: GPL-3.0-or-later
#include "receiver_message.h"

#include <array>

namespace wip {

namespace {
constexpr std::array mode_names{"searching", "confirming", "synchronised", "locked"};
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

}  // namespace wip
