// SPDX-License-Identifier: GPL-3.0-or-later
#include "emulator/wlan_path.h"

#include <algorithm>
#include <cstdint>

namespace wip::emulator {

wlan::wlan_cell::make_errors wlan_path::errors_of(const wlan_path_config& c) {
    return [c](int from, int to) -> std::unique_ptr<attempt_errors> {
        if (!(to < from ? c.errors_up : c.errors_down)) return nullptr;
        const int station = std::max(from, to) - c.cell.hops + 1;
        if (c.errors_station > 0 && station != c.errors_station) return nullptr;
        return packet_model::make_attempt_errors(
            c.errors, static_cast<std::uint32_t>(1000 + 100 * from + to));
    };
}

// Errors start anew only where they are others.
void wlan_path::apply(const emulator_config& wanted, std::int64_t /*now_ns*/) {
    cell_.reconfigure(wanted.wlan.cell);
    to_base_.reconfigure(wanted.wlan.to_base);
    from_base_.reconfigure(wanted.wlan.from_base);
    if (wanted.wlan.errors != config_.errors || wanted.wlan.errors_up != config_.errors_up ||
        wanted.wlan.errors_down != config_.errors_down ||
        wanted.wlan.errors_station != config_.errors_station)
        cell_.replace(errors_of(wanted.wlan));
    config_ = wanted.wlan;
}

namespace {

// In the words of every link: what the access point did.
void fill_link(const wlan::wlan_cell::node_counts& c, const packets_bytes& delivered,
               openwip::control::BaseLink& b) {
    b.set_payload_bits_acknowledged(8 * delivered.bytes);
    b.set_frames_sent(c.attempts);
    b.set_frames_failed(c.failed);
    b.set_frames_acknowledged(c.attempts - c.failed);
    b.set_frames_given_up(c.given_up);
}

}  // namespace

void wlan_path::fill_base(openwip::control::MacStatus& status) const {
    for (int n = 0; n < cell_.nodes(); ++n) {
        const auto c = cell_.counts(n);
        auto& node = *status.add_wlan();
        node.set_attempts(c.attempts);
        node.set_failed(c.failed);
        node.set_collisions(c.collisions);
        node.set_put_back(c.put_back);
        node.set_given_up(c.given_up);
        node.set_retry_limit(static_cast<std::uint32_t>(cell_.retry_limit(n)));
    }
    fill_link(cell_.counts(0), downlink_.sums().delivered, *status.mutable_base());
    for (int s = 0; s < cell_.stations() && cell_.stations() > 1; ++s) {
        const link_sums down = cell_.downlink_sums(s);
        auto& user = *status.add_users();
        fill_link(cell_.counts_to(s), down.delivered, *user.mutable_base());
        fill_sender(down, *user.mutable_downlink());
        fill_receiver(cell_.uplink_sums(s), *user.mutable_uplink());
    }
}

void wlan_path::fill_terminal(openwip::control::MacStatus& status) const {
    for (int s = 0; s < cell_.stations() && cell_.stations() > 1; ++s) {
        auto& user = *status.add_users();
        fill_sender(cell_.uplink_sums(s), *user.mutable_uplink());
        fill_receiver(cell_.downlink_sums(s), *user.mutable_downlink());
        user.mutable_radio()->set_locked(true);
        user.mutable_radio()->set_locks(1);
    }
}

}  // namespace wip::emulator
