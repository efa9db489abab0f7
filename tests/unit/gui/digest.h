// SPDX-License-Identifier: GPL-3.0-or-later
// A digest of all that the monitor's model keeps: equal models have equal digests.
#pragma once

#include <cmath>
#include <cstdint>

#include "gui/model/session_model.h"

namespace wip::gui {

inline std::uint64_t digest(session_model model) {
    std::uint64_t h = 1469598103934665603ull;
    const auto bytes = [&h](const void* p, std::size_t n) {
        const auto* c = static_cast<const unsigned char*>(p);
        for (std::size_t i = 0; i < n; ++i) h = (h ^ c[i]) * 1099511628211ull;
    };
    const auto value = [&](auto v) { bytes(&v, sizeof v); };
    // The terminal that is shown, or all.
    const auto shown = [&] {
        for (const auto& c : model.columns()) {
            value(c.slot);
            for (const auto* row : {&c.measured_db, &c.predicted_db, &c.true_db})
                for (float x : *row) value(std::isnan(x) ? 1e9f : x);
            for (const auto* row : {&c.bits, &c.outcome, &c.retransmissions, &c.user})
                bytes(row->data(), row->size());
            value(c.queued_packets);
        }
        for (const auto& p : model.base_points()) {
            value(p.slot), value(p.bits_acknowledged), value(p.frames_sent),
                value(p.queued_packets), value(p.bearer.window), value(p.bearer.retransmissions);
            for (auto n : p.modulation) value(n);
            for (auto n : p.retransmissions) value(n);
        }
        for (const auto& p : model.terminal_points())
            value(p.slot), value(p.uplink_queued), value(p.rlc_statuses);
        for (const auto& p : model.receiver_points()) {
            value(p.slot);
            bytes(p.sample.points().data(), p.sample.points().size());
            for (float x : p.sample.channel()) value(x);
        }
    };
    for (int user = all_users; user < static_cast<int>(model.users_seen()); ++user) {
        model.show_user(user);
        shown();
    }
    for (const auto& p : model.packets()) {
        value(p.slot), value(p.number), value(p.total_ms), value(p.dropped), value(p.user);
        for (float x : p.part_ms) value(x);
    }
    for (const auto& p : model.tcp_points())
        value(p.slot), value(p.flow), value(p.cwnd), value(p.rtt_ms), value(p.retransmitted);
    for (const auto& p : model.verdict_points())
        value(p.slot), value(p.valid), value(p.goodput_bps);
    for (const auto& p : model.attenuator_points()) {
        value(p.slot);
        for (float x : p.level_db) value(std::isnan(x) ? 1e9f : x);
    }
    for (const auto& e : model.events()) {
        value(e.slot), value(e.count);
        bytes(e.reason.data(), e.reason.size());
    }
    value(model.newest_slot());
    return h;
}

}  // namespace wip::gui
