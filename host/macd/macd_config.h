// SPDX-License-Identifier: GPL-3.0-or-later
// The configuration of macd: its table of keys, and the translation of checked settings into the
// structs of the MAC, the uplink and the TUN.
#pragma once

#include <string>
#include <vector>

#include "config/schema.h"
#include "extension/link_rules.h"
#include "link/link_config.h"
#include "packet/emulated_uplink.h"
#include "packet/wired_link.h"
#include "runtime/telemetry_rates.h"
#include "settings/configuration.h"
#include "tun/tun_device.h"

namespace wip::host {

enum class station_role_kind : std::uint8_t { base, terminal };

struct macd_config {
    station_role_kind role = station_role_kind::base;
    std::string name;
    link_config link;
    extension::link_rules_config rules;  // rules of the base station
    // The flowgraph asks for a slot so long before it is on the air, for its radio's clock runs
    // freely; 0: that clock waits, and macd says when a slot is planned.
    int transmit_lead_slots = 0;
    // part of the retransmission delay that a fader between the radios takes, slots
    int fader_slots = 0;
    bool tcp_l = false;
    uplink_config uplink;
    // wired network between the base station and the server
    packet_model::wired_config to_base, from_base;
    std::string predictor;  // predictor of the terminal's receiver
    tun_settings tun;
    std::string tun_namespace;
    std::string slot_link_endpoint;
    std::string uplink_endpoint;
    std::string uplink_keys;      // folder with the keys; empty: none
    bool peer_may_leave = false;  // the peer may leave and come back
    std::string control_endpoint;
    std::string telemetry_endpoint;
    telemetry_rates telemetry;
    bool replay = false;  // the terminal's flowgraph plays a recording
    std::string user;
    double peer_timeout_s = 0;
};

// The slots that a slot and its feedback take beside the lead: the slot itself, its reception, the
// way back.
inline constexpr int feedback_slots = 3;

const std::vector<config::key>& macd_keys();

// Fills in what depends on the role and on $OPENWIP_RUN, checks across keys, translates. Throws
// config::error.
macd_config translate(config::settings& settings);

}  // namespace wip::host
