// SPDX-License-Identifier: GPL-3.0-or-later
#include "emulator/cell_path.h"

#include "emulator/cell_status.h"
#include "station/packet_gate.h"

namespace wip::emulator {

using openwip::control::MacStatus;

cell_path::cell_path(const emulator_config& c)
    : cell(c.cell, make_sources(c)),
      wlan(c.kind == link_kind::wlan ? std::make_unique<wlan_path>(c.wlan) : nullptr),
      delay_down(c.delay_down),
      delay_up(c.delay_up),
      down_(delay_down, wlan ? wlan->downlink() : cell.downlink()),
      up_(wlan ? wlan->uplink() : cell.uplink(), delay_up) {}

void cell_path::fill_base(MacStatus& status) const {
    emulator::fill_base(cell, status);
    if (wlan) wlan->fill_base(status);
    add_delay_injection(delay_down, delay_up, status);
}

void cell_path::fill_terminal(MacStatus& status) const {
    emulator::fill_terminal(cell, status);
    if (wlan) wlan->fill_terminal(status);
}

std::unique_ptr<packet_path> make_path(const emulator_config& config) {
    if (config.kind == link_kind::umts) return make_links(config);
    return std::make_unique<cell_path>(config);
}

void fill_sender(const packet_link& link, openwip::control::Direction& d) {
    const link_sums s = link.sums();
    d.Clear();
    host::set(*d.mutable_in(), s.in);
    host::set(*d.mutable_delivered(), s.delivered);
    host::set(*d.mutable_queued(), s.queued);
    for (const auto& drop : s.dropped) host::add_drop(d, drop.reason, drop.count);
}

void fill_receiver(const packet_link& link, openwip::control::Direction& d) {
    d.Clear();
    host::set(*d.mutable_in(), link.sums().delivered);
    d.mutable_queued();
}

}  // namespace wip::emulator
