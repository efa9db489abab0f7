// SPDX-License-Identifier: GPL-3.0-or-later
#include "station/link_settings.h"

#include <stdexcept>
#include <string>

#include "config/typed.h"
#include "types/slots_of.h"

namespace wip::host {
namespace {

// The ranges of the tables are those of the MAC; what it refuses all the same is a bug of a table.
template <class Config>
Config checked(const Config& c) {
    try {
        c.check();
    } catch (const std::invalid_argument& e) {
        throw config::error(std::string("configuration: ") + e.what());
    }
    return c;
}

template <class Queue>
queue_config queue_from(Queue kind, double target_ms, std::uint64_t seed) {
    queue_config c;
    c.kind = config::translated(kind, queue_kind::drop_tail, queue_kind::codel,
                                queue_kind::fq_codel, queue_kind::pie, queue_kind::dualpi2);
    c.target_ms = target_ms;
    c.seed = seed;
    return c;
}

}  // namespace

link_config link_from(const config::link_settings& v, std::uint64_t seed) {
    link_config c;
    c.profile = config::translated(v.profile, link_profile::radio, link_profile::wipemu);
    c.bins = v.bins;
    c.allocation = config::translated(v.allocation, allocation_kind::fixed, allocation_kind::best);
    c.modulation = v.modulation.value_or(0);
    using table = switch_table_kind;
    c.switch_table =
        config::translated(v.switch_table, table::nmse_0, table::nmse_0_1, table::measured);
    c.max_retransmissions = v.max_retransmissions;
    c.retransmission_delay_slots = static_cast<int>(slots_of_ms(v.retransmission_delay_ms));
    c.combining = v.combining;
    c.packing = v.packing;
    c.in_order = config::translated(v.order, true, false);
    c.deliver_corrupt = v.deliver_corrupt;
    c.queue_packets = v.queue_packets;
    c.queue = queue_from(v.queue, v.queue_target_ms, seed);
    c.queue.marking =
        config::translated(v.queue_marking, queue_marking::sojourn, queue_marking::predicted);
    return checked(c);
}

uplink_config uplink_from(const config::uplink_settings& v, std::uint64_t seed) {
    uplink_config c;
    c.kbps = v.kbps;
    c.delay_slots = v.delay_slots;
    c.loss = v.loss;
    c.feedback_loss = v.feedback_loss;
    c.queue_packets = v.queue_packets;
    c.queue = queue_from(v.queue, v.queue_target_ms, seed);
    c.seed = seed;
    return checked(c);
}

std::pair<packet_model::wired_config, packet_model::wired_config> wired_from(
    const config::to_base_settings& to_base, const config::from_base_settings& from_base,
    std::uint64_t seed) {
    packet_model::wired_config to;
    to.delay_ms = to_base.delay_ms;
    to.rate_kbps = to_base.rate_kbps;
    to.loss = to_base.loss;
    to.queue_packets = to_base.queue_packets;
    to.queue = queue_from(to_base.queue, to_base.queue_target_ms, seed);
    to.held_mb = to_base.held_mb;
    to.seed = seed;
    packet_model::wired_config from = to;
    from.delay_ms = from_base.delay_ms.value_or(to.delay_ms);
    from.rate_kbps = from_base.rate_kbps;
    from.loss = from_base.loss;
    return {to, from};
}

void check_mtu(const config::settings& s, int mtu, bool has_ipv6, const char* keys) {
    constexpr int least = 1280;
    if (has_ipv6 && mtu < least)
        throw s.refuse(config::name::tun_mtu, std::string("IPv6 (") + keys +
                                                  ") needs more; valid: " + std::to_string(least) +
                                                  " bytes and more");
}

}  // namespace wip::host
