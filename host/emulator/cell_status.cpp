// SPDX-License-Identifier: GPL-3.0-or-later
#include "emulator/cell_status.h"

#include <cmath>

#include "station/mac_status.h"
#include "station/packet_gate.h"

namespace wip::emulator {
namespace {

using cell_model::emulated_cell;
using openwip::control::MacStatus;

void add_to(openwip::control::PacketsBytes& c, const packets_bytes& more) {
    c.set_packets(c.packets() + more.packets);
    c.set_bytes(c.bytes() + more.bytes);
}

void fill_base_of(const emulated_cell& cell, int user, MacStatus& status) {
    const auto s = cell.base_status(user);
    status.set_slot(s.now.value);
    host::fill_downlink_sent(s.link, *status.mutable_downlink());
    auto& up = *status.mutable_uplink();
    host::set(*up.mutable_in(), s.uplink_in);
    host::set(*up.mutable_queued(), s.uplink_queued);
    host::set(*status.mutable_uplink_feedback(), s.feedback);
    host::fill_base(s.link, status);
}

void fill_terminal_of(const emulated_cell& cell, int user, MacStatus& status) {
    const auto s = cell.terminal_status(user);
    status.set_slot(s.now.value);
    auto& down = *status.mutable_downlink();
    host::fill_downlink_received(s.link, down);
    host::set(*down.mutable_queued(), s.queued);
    host::set(*down.mutable_delivered(), s.delivered);
    host::fill_uplink_sent(s.uplink, {}, status);
    host::fill_terminal(s.link, status);
    auto& r = *status.mutable_radio();
    r.set_locked(true);
    r.set_locks(1);
    r.set_mean_snr_db(s.mean_snr > 0 ? 10 * std::log10(s.mean_snr) : 0);
    r.set_prediction_nmse(s.prediction_nmse);
}

// The status of a cell is that of user 0 to which the counts of the other users are added. With
// several users, each has an entry of its own as well.
template <class Fill>
void fill_users(const emulated_cell& cell, MacStatus& status, Fill fill) {
    fill(cell, 0, status);
    for (int u = 0; u < cell.users() && cell.users() > 1; ++u) fill(cell, u, *status.add_users());
    for (int u = 1; u < cell.users(); ++u) host::add_up(status, status.users(u));
}

}  // namespace

void fill_base(const emulated_cell& cell, MacStatus& status) {
    fill_users(cell, status, fill_base_of);
    host::add_wired(cell.wired_to_base().sums(), cell.wired_from_base().sums(), status);
}

// Adds the acknowledgements that delay injection holds back. On the downlink they are held before
// the cell, which has not counted them: they have come in and wait. On the uplink they are held
// after the cell, which has counted them as come in: they only wait.
void add_held(const delayed_pair& links, MacStatus& status) {
    const auto down = links.at_downlink().sums().queued;
    add_to(*status.mutable_downlink()->mutable_in(), down);
    add_to(*status.mutable_downlink()->mutable_queued(), down);
    add_to(*status.mutable_uplink()->mutable_queued(), links.at_uplink().sums().queued);
}

void fill_delay_injection(const delayed_pair& links, MacStatus& status) {
    const auto *down = &links.at_downlink(), *up = &links.at_uplink();
    // The direction that has the newest sample gives delay and threshold.
    const bool newest_is_uplink =
        down->count().samples == 0 ||
        (up->count().samples > 0 && up->count().last_ns >= down->count().last_ns);
    for (const auto* stage : {down, up}) {
        const auto& c = stage->count();
        if (c.samples == 0) continue;
        auto& d = *status.mutable_delay_injection();
        d.set_flows(d.flows() + stage->flows());
        d.set_samples(d.samples() + c.samples);
        d.set_spikes(d.spikes() + c.spikes);
        d.set_held(d.held() + c.held);
        d.set_held_now(d.held_now() + stage->held_now());
        d.set_held_ms(d.held_ms() + c.held_ms);
        if (stage != (newest_is_uplink ? up : down)) continue;
        d.set_pdelay_ms(c.pdelay_ms);  // packet delay (control.proto)
        d.set_threshold_ms(c.threshold_ms);
        d.set_delay_ms(c.delay_ms);
    }
}

void fill_snoop(const snoop& agent, MacStatus& status) {
    const auto& c = agent.count();
    auto& down = *status.mutable_downlink();
    add_to(*down.mutable_in(), c.retransmitted);
    if (c.retransmitted.packets > 0) add_to(*down.mutable_copies(), c.retransmitted);
    auto& s = *status.mutable_snoop();
    s.set_connections(agent.connections());
    host::set(*s.mutable_cached(), agent.cached());
    host::set(*s.mutable_retransmitted(), c.retransmitted);
    s.set_by_duplicate(c.by_duplicate);
    s.set_by_partial(c.by_partial);
    s.set_by_timeout(c.by_timeout);
    host::set(*s.mutable_suppressed_duplicates(), c.suppressed_duplicates);
    host::set(*s.mutable_suppressed_old(), c.suppressed_old);
    host::set(*s.mutable_cache_full(), c.cache_full);
    s.set_sender_retransmissions(c.sender_retransmissions);
    s.set_given_up(c.given_up);
    s.set_round_trip_ms(c.round_trip_ms);
}

void fill_terminal(const emulated_cell& cell, MacStatus& status) {
    fill_users(cell, status, fill_terminal_of);
}

}  // namespace wip::emulator
