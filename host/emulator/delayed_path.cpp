// SPDX-License-Identifier: GPL-3.0-or-later
#include "emulator/delayed_path.h"

#include <algorithm>
#include <cmath>

#include "emulator/cell_status.h"
#include "station/mac_status.h"
#include "station/packet_gate.h"

namespace wip::emulator {

using openwip::control::Direction;
using openwip::control::MacStatus;

void stamp(MacStatus& status, std::int64_t slot) {
    status.set_slot(slot);
    for (auto& user : *status.mutable_users()) user.set_slot(slot);
}

void fill_sender(const link_sums& s, Direction& d) {
    d.Clear();
    host::set(*d.mutable_in(), s.in);
    host::set(*d.mutable_delivered(), s.delivered);
    host::set(*d.mutable_queued(), s.queued);
    if (s.marked.packets > 0) host::set(*d.mutable_marked(), s.marked);
    for (const auto& drop : s.dropped) host::add_drop(d, drop.reason, drop.count);
}

void fill_receiver(const link_sums& s, Direction& d) {
    d.Clear();
    host::set(*d.mutable_in(), s.delivered);
    d.mutable_queued();
}

void cell_path::black_out(slot from, double ms) {
    const double slots = std::ceil(std::min(ms, 1e12) * double{slots_per_second} / 1000);
    cell.black_out(from, from + slot_count(static_cast<std::int64_t>(slots)));
}

void cell_path::load_rules(const emulator_config& config) {
    const cell_config& c = config.cell.cell;
    rules.emplace(config.rules, cell_of(c.link, c.users, c.averaging_slots));
    cell.use(rules->scheduler(), rules->adaptation());
}

void cell_path::fill_base(MacStatus& status) const {
    emulator::fill_base(cell, status);
    if (rules) host::fill_rules(rules->costs(), status);
    add_held(links, status);
    fill_delay_injection(links, status);
}

void cell_path::fill_terminal(MacStatus& status) const { emulator::fill_terminal(cell, status); }

void pair_path::fill_base(MacStatus& status) const {
    carrier->fill_base(status);
    fill_sender(links.downlink().sums(), *status.mutable_downlink());
    fill_receiver(links.uplink().sums(), *status.mutable_uplink());
    fill_delay_injection(links, status);
    if (const auto* agent = carrier->agent()) fill_snoop(*agent, status);
}

void pair_path::fill_terminal(MacStatus& status) const {
    carrier->fill_terminal(status);
    fill_sender(links.uplink().sums(), *status.mutable_uplink());
    fill_receiver(links.downlink().sums(), *status.mutable_downlink());
    status.mutable_radio()->set_locked(true);
    status.mutable_radio()->set_locks(1);
}

std::unique_ptr<packet_path> make_path(const emulator_config& config) {
    if (config.kind == link_kind::ofdm) return std::make_unique<cell_path>(config);
    return std::make_unique<pair_path>(config);
}

}  // namespace wip::emulator
