// SPDX-License-Identifier: GPL-3.0-or-later
#include "emulator/wlan_path.h"

#include <cstdint>

namespace wip::emulator {

wlan::wlan_cell::make_errors wlan_path::errors_of(const wlan_path_config& c) {
    return [c](int from, int to) -> std::unique_ptr<attempt_errors> {
        if (!(to < from ? c.errors_up : c.errors_down)) return nullptr;
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
        wanted.wlan.errors_down != config_.errors_down)
        cell_.replace(errors_of(wanted.wlan));
    config_ = wanted.wlan;
}

void wlan_path::fill_base(openwip::control::MacStatus& status) const {
    for (int n = 0; n < cell_.nodes(); ++n) {
        const auto& c = cell_.counts(n);
        auto& node = *status.add_wlan();
        node.set_attempts(c.attempts);
        node.set_failed(c.failed);
        node.set_collisions(c.collisions);
        node.set_put_back(c.put_back);
        node.set_given_up(c.given_up);
        node.set_retry_limit(static_cast<std::uint32_t>(cell_.retry_limit(n)));
    }
    // In the words of every link, the access point's.
    auto& b = *status.mutable_base();
    const auto& c = cell_.counts(0);
    b.set_payload_bits_acknowledged(8 * downlink_.sums().delivered.bytes);
    b.set_frames_sent(c.attempts);
    b.set_frames_failed(c.failed);
    b.set_frames_acknowledged(c.attempts - c.failed);
    b.set_frames_given_up(c.given_up);
}

}  // namespace wip::emulator
