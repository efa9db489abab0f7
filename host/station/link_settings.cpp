// SPDX-License-Identifier: GPL-3.0-or-later
#include "station/link_settings.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

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

}  // namespace

link_config link_from(const config::settings& s) {
    link_config c;
    c.profile = s.text("link.profile") == "wipemu" ? link_profile::wipemu : link_profile::radio;
    c.bins = static_cast<int>(s.integer("link.bins"));
    c.allocation =
        s.text("link.allocation") == "static" ? allocation_kind::fixed : allocation_kind::best;
    c.modulation =
        s.text("link.modulation") == "adaptive" ? 0 : s.text("link.modulation").front() - '0';
    const std::string& table = s.text("link.switch_table");
    c.switch_table = table == "nmse_0"     ? switch_table_kind::nmse_0
                     : table == "measured" ? switch_table_kind::measured
                                           : switch_table_kind::nmse_0_1;
    c.max_retransmissions = static_cast<int>(s.integer("link.max_retransmissions"));
    // 1.5 slots a millisecond; a hair of tolerance so that 2 ms is 3 slots and not 4.
    c.retransmission_delay_slots =
        static_cast<int>(std::ceil(s.real("link.retransmission_delay_ms") * 1.5 - 1e-9));
    c.combining = s.flag("link.combining");
    c.packing = s.flag("link.packing");
    c.in_order = s.text("link.order") == "in_order";
    c.deliver_corrupt = s.flag("link.deliver_corrupt");
    c.queue_packets = static_cast<int>(s.integer("link.queue_packets"));
    return checked(c);
}

extension::link_rules_config link_rules_from(const config::settings& s) {
    const extension::link_rules_config c{s.text("link.scheduler"), s.text("link.adaptation")};
    if (c.scheduler != no_extension && s.text("link.allocation") != "best")
        throw s.refuse("link.allocation", "link.scheduler = " + c.scheduler +
                                              " shares out the bins; valid: best, its default");
    if (c.adaptation != no_extension && s.text("link.modulation") != "adaptive")
        throw s.refuse("link.modulation", "link.adaptation = " + c.adaptation +
                                              " chooses the modulation; valid: adaptive");
    return c;
}

bool tcp_l_from(const config::settings& s) {
    const bool on = s.flag("link.tcp_l");
    if (on && !s.flag("link.deliver_corrupt"))
        throw s.refuse("link.tcp_l", "without link.deliver_corrupt no damaged segment arrives");
    return on;
}

uplink_config uplink_from(const config::settings& s) {
    uplink_config c;
    c.kbps = s.real("uplink.kbps");
    c.delay_slots = static_cast<int>(s.integer("uplink.delay_slots"));
    c.loss = s.real("uplink.loss");
    c.feedback_loss = s.real("uplink.feedback_loss");
    c.queue_packets = static_cast<int>(s.integer("uplink.queue_packets"));
    c.seed = static_cast<std::uint64_t>(s.integer("seed"));
    return checked(c);
}

std::pair<packet_model::wired_config, packet_model::wired_config> wired_from(
    const config::settings& s) {
    packet_model::wired_config to;
    to.delay_ms = s.real("to_base.delay_ms");
    to.rate_kbps = s.real("to_base.rate_kbps");
    to.loss = s.real("to_base.loss");
    to.queue_packets = static_cast<int>(s.integer("to_base.queue_packets"));
    to.held_mb = s.real("to_base.held_mb");
    to.seed = static_cast<std::uint64_t>(s.integer("seed"));
    packet_model::wired_config from = to;
    from.delay_ms = s.number("from_base.delay_ms").value_or(to.delay_ms);
    from.rate_kbps = s.real("from_base.rate_kbps");
    from.loss = s.real("from_base.loss");
    for (const char* rate : {"to_base.rate_kbps", "from_base.rate_kbps"})
        if (s.real(rate) > 0 && s.real(rate) < 1)
            throw s.refuse(rate, "must be 0 (no limit) or 1 .. 10000000");
    return {to, from};
}

telemetry_rates telemetry_from(const config::settings& s) {
    return {.slot_every = static_cast<int>(s.integer("telemetry.slot_every")),
            .receiver_every = static_cast<int>(s.integer("telemetry.receiver_every")),
            .frames_every = static_cast<int>(s.integer("telemetry.frames_every")),
            .queue_messages = static_cast<int>(s.integer("telemetry.queue_messages")),
            .packets_per_second = static_cast<int>(s.integer("telemetry.packets_per_second"))};
}

}  // namespace wip::host
