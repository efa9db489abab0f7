// SPDX-License-Identifier: GPL-3.0-or-later
#include "macd/macd_config.h"

#include <cmath>
#include <tuple>

#include "config/endpoint.h"
#include "config/settings_table.h"
#include "peer/endpoint.h"

namespace wip::host {
namespace {

// The place that two endpoints must not share, whatever their kind.
std::string place_of(const std::string& endpoint) {
    const std::string path = peer::socket_path(endpoint);
    return path.empty() ? endpoint : path;
}

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

int lead_from(const config::settings& s, int delay) {
    const int lead = static_cast<int>(s.integer("link.transmit_lead_slots"));
    if (lead == 1)
        throw s.refuse("link.transmit_lead_slots",
                       "too short for a radio; valid: 0, or 2..45 slots");
    if (lead != 0 && delay < lead + feedback_slots)
        throw s.refuse("link.transmit_lead_slots",
                       "the retransmission delay of " + std::to_string(delay) +
                           " slots has to be longer by at least 3, for the feedback; valid: 0.." +
                           std::to_string(std::max(0, delay - feedback_slots)));
    const int fader = static_cast<int>(s.integer("link.fader_slots"));
    if (fader != 0 && delay < lead + feedback_slots + fader)
        throw s.refuse("link.retransmission_delay_ms",
                       "with link.fader_slots = " + std::to_string(fader) + " and a lead of " +
                           std::to_string(lead) + " at least " +
                           std::to_string(lead + feedback_slots + fader) + " slots");
    return lead;
}

// Packets and feedback over TCP are encrypted; on the loopback, too, which every user reaches.
void check_keys(const config::settings& s) {
    const std::string& endpoint = s.text("endpoints.uplink");
    const bool keys = !s.text("endpoints.uplink_keys").empty(),
               tcp = endpoint.starts_with("tcp://");
    if (!keys && tcp)
        throw s.refuse("endpoints.uplink_keys",
                       "over TCP keys are needed; valid: a folder of ./openwip keys");
    if (keys && !tcp)
        throw s.refuse("endpoints.uplink_keys",
                       "for an uplink over TCP only; valid: empty with " + endpoint);
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

const std::vector<config::key>& macd_keys() {
    static const auto keys = config::settings_table::built_in().keys(
        "macd",
        {{"interface_name", check_interface_name}, {"interface_address", check_interface_address}});
    return keys;
}

macd_config translate(config::settings& s) {
    s.finish();
    macd_config c;
    const std::string& role = s.text("role");
    c.role = role == "base" ? station_role_kind::base : station_role_kind::terminal;
    s.set_default("endpoints.slot_link", "shm://RUN/" + role + ".slot");
    for (const auto* end : {"control", "telemetry"})
        s.set_default(std::string("endpoints.") + end, "ipc://RUN/" + role + "." + end);
    if (c.role == station_role_kind::terminal) s.set_default("tun.address", "10.42.0.2/30");
    for (const auto* e : {"slot_link", "uplink", "control", "telemetry"})
        config::fill_in_run_folder(s, std::string("endpoints.") + e);

    c.name = s.text("name");
    if (s.text("link.profile") != "radio")
        throw s.refuse("link.profile",
                       "not possible on a radio: its error detection is ideal and leaves no room "
                       "for a CRC; expected radio");
    c.link = link_from(s);
    if (c.role == station_role_kind::base) c.rules = link_rules_from(s);
    c.transmit_lead_slots = lead_from(s, c.link.retransmission_delay_slots);
    c.fader_slots = static_cast<int>(s.integer("link.fader_slots"));
    c.tcp_l = tcp_l_from(s);
    c.uplink = uplink_from(s);
    std::tie(c.to_base, c.from_base) = wired_from(s);
    c.predictor = s.text("phy.predictor");

    c.tun.name = s.text("tun.name");
    c.tun_namespace = s.text("tun.namespace");
    c.tun.address = s.text("tun.address");
    c.tun.mtu = static_cast<int>(s.integer("tun.mtu"));
    c.tun.txqueuelen = static_cast<int>(s.integer("tun.txqueuelen"));
    if (c.tun.address.find(':') != std::string::npos && c.tun.mtu < 1280)
        throw s.refuse("tun.mtu", "IPv6 (tun.address) needs at least 1280 bytes");

    c.slot_link_endpoint = s.text("endpoints.slot_link");
    c.uplink_endpoint = s.text("endpoints.uplink");
    c.uplink_keys = s.text("endpoints.uplink_keys");
    check_keys(s);
    c.control_endpoint = s.text("endpoints.control");
    c.telemetry_endpoint = s.text("endpoints.telemetry");
    const std::string endpoint_keys[] = {"endpoints.slot_link", "endpoints.uplink",
                                         "endpoints.control", "endpoints.telemetry"};
    for (const auto& a : endpoint_keys)
        for (const auto& b : endpoint_keys)
            if (&a < &b && place_of(s.text(a)) == place_of(s.text(b)))
                throw s.refuse(b, "the same as " + a);
    c.telemetry = telemetry_from(s);
    c.replay = s.flag("replay");
    if (c.replay && c.role == station_role_kind::base)
        throw s.refuse("replay", "not possible at the base station: it receives nothing");
    c.peer_may_leave = s.flag("peer_may_leave");
    if (c.peer_may_leave && c.transmit_lead_slots == 0)
        throw s.refuse(
            "peer_may_leave",
            "not possible without link.transmit_lead_slots: without it each slot waits for the "
            "other station");
    c.user = s.text("user");
    c.peer_timeout_s = s.real("peer_timeout_s");
    return c;
}

}  // namespace wip::host
