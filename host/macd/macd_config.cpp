// SPDX-License-Identifier: GPL-3.0-or-later
#include "macd/macd_config.h"

#include <tuple>

#include "config/endpoint.h"
#include "config/settings_table.h"
#include "peer/endpoint.h"
#include "station/link_settings.h"

namespace wip::host {
namespace {

// What two endpoints must not share, whatever their kind.
std::string place_of(const std::string& endpoint) {
    const std::string path = peer::socket_path(endpoint);
    return path.empty() ? endpoint : path;
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
