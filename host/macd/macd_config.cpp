// SPDX-License-Identifier: GPL-3.0-or-later
#include "macd/macd_config.h"

#include <tuple>

#include "config/endpoint.h"
#include "config/settings_table.h"
#include "peer/endpoint.h"
#include "station/link_settings.h"

namespace wip::host {
namespace {

namespace name = config::name;

// The place that two endpoints must not share, whatever their kind.
std::string place_of(const std::string& endpoint) {
    const std::string path = peer::socket_path(endpoint);
    return path.empty() ? endpoint : path;
}

// Packets and feedback over TCP are encrypted; on the loopback, too, which every user reaches.
void check_keys(const config::settings& s, const config::endpoints_settings& endpoints) {
    const bool keys = !endpoints.uplink_keys.empty(), tcp = endpoints.uplink.starts_with("tcp://");
    if (!keys && tcp)
        throw s.refuse(name::endpoints_uplink_keys,
                       "an uplink over TCP needs keys; valid: a folder of ./openwip keys");
    if (keys && !tcp)
        throw s.refuse(
            name::endpoints_uplink_keys,
            "keys are for an uplink over TCP only; valid: empty with endpoints.uplink = " +
                endpoints.uplink);
}

}  // namespace

const std::vector<config::key>& macd_keys() {
    static const auto keys =
        config::keys_of(config::process::macd, {{"interface_name", check_interface_name},
                                                {"interface_address", check_interface_address},
                                                {"interface_address6", check_interface_address6}});
    return keys;
}

macd_config translate(config::settings& s) {
    s.finish();
    const std::string& role = s.text(name::role);
    s.set_default(name::endpoints_slot_link, "shm://RUN/" + role + ".slot");
    s.set_default(name::endpoints_control, "ipc://RUN/" + role + ".control");
    s.set_default(name::endpoints_telemetry, "ipc://RUN/" + role + ".telemetry");
    if (role == config::text_of(config::role_choice::terminal))
        s.set_default(name::tun_address, "10.42.0.2/30");
    config::fill_in_run_folder(s);
    const auto v = config::read_macd(s);

    macd_config c;
    c.role = config::translated(v.role, station_role_kind::base, station_role_kind::terminal);
    c.name = v.name;
    if (v.link.profile != config::link_profile_choice::radio)
        throw s.refuse(name::link_profile,
                       "its error detection is ideal and leaves no room for the CRC of a radio; "
                       "valid: radio");
    c.link = link_from(v.link, v.seed);
    if (c.role == station_role_kind::base) c.rules = {v.link.scheduler, v.link.adaptation};
    c.transmit_lead_slots = v.link.transmit_lead_slots;
    c.fader_slots = v.link.fader_slots;
    c.tcp_l = v.link.tcp_l;
    c.uplink = uplink_from(v.uplink, v.seed);
    std::tie(c.to_base, c.from_base) = wired_from(v.to_base, v.from_base, v.seed);
    c.predictor = v.phy.predictor;

    c.tun.name = v.tun.name;
    c.tun_namespace = v.tun.namespace_;
    c.tun.address = v.tun.address;
    c.tun.mtu = v.tun.mtu;
    c.tun.txqueuelen = v.tun.txqueuelen;
    c.tun.address6 = address6_of(v.tun.address6);
    check_mtu(s, c.tun.mtu, has_ipv6(c.tun), "tun.address6, or tun.address");

    c.slot_link_endpoint = v.endpoints.slot_link;
    c.uplink_endpoint = v.endpoints.uplink;
    c.uplink_keys = v.endpoints.uplink_keys;
    check_keys(s, v.endpoints);
    c.control_endpoint = v.endpoints.control;
    c.telemetry_endpoint = v.endpoints.telemetry;
    const std::string endpoint_keys[] = {name::endpoints_slot_link, name::endpoints_uplink,
                                         name::endpoints_control, name::endpoints_telemetry};
    for (const auto& a : endpoint_keys)
        for (const auto& b : endpoint_keys)
            if (&a < &b && place_of(s.text(a)) == place_of(s.text(b)))
                throw s.not_valid(b, "another endpoint than that of " + a);
    c.telemetry = v.telemetry;
    c.replay = v.replay;
    c.peer_may_leave = v.peer_may_leave;
    c.user = v.user;
    c.peer_timeout_s = v.peer_timeout_s;
    return c;
}

}  // namespace wip::host
