// SPDX-License-Identifier: GPL-3.0-or-later
#include "emulator/wlan_path.h"

#include "emulator/link_pair.h"

namespace wip::emulator {
wlan::wlan_cell::make_errors wlan_path::errors_of(const wlan_path_config& c) {
    return [errors = c.errors](int from, int to) {
        return packet_model::make_attempt_errors(
            errors, static_cast<std::uint32_t>(1000 + 100 * from + to));
    };
}

void wlan_path::reconfigure(const wlan_path_config& c, bool other_errors) {
    cell_.reconfigure(c.cell);
    if (other_errors) cell_.replace(errors_of(c));
}

void wlan_path::fill_base(openwip::control::MacStatus& status) const {
    status.clear_users();
    fill_sender(downlink_, *status.mutable_downlink());
    fill_sender(from_base_, *status.mutable_uplink());
    auto& b = *status.mutable_base();
    b.set_payload_bits_acknowledged(8 * downlink_.sums().delivered.bytes);
    for (int n = 0; n < cell_.nodes(); ++n) {
        const auto& c = cell_.counts(n);
        auto& node = *status.add_wlan();
        node.set_attempts(c.attempts);
        node.set_failed(c.failed);
        node.set_collisions(c.collisions);
        node.set_put_back(c.put_back);
        node.set_given_up(c.given_up);
    }
    const auto& c = cell_.counts(0);
    b.set_frames_sent(c.attempts);
    b.set_frames_failed(c.failed);
    b.set_frames_acknowledged(c.attempts - c.failed);
    b.set_frames_given_up(c.given_up);
}

void wlan_path::fill_terminal(openwip::control::MacStatus& status) const {
    status.clear_users();
    fill_receiver(downlink_, *status.mutable_downlink());
    fill_sender(cell_.uplink(), *status.mutable_uplink());
}

}  // namespace wip::emulator
