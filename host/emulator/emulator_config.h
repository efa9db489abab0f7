// SPDX-License-Identifier: GPL-3.0-or-later
// The configuration of the emulator: the link and the uplink with the keys of macd, and what stands
// in place of the radio: channel, wired network, interfaces, pacing.
#pragma once

#include <netinet/in.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "cell/cell_channel.h"
#include "cell/emulated_cell.h"
#include "cells/cells_config.h"
#include "config/schema.h"
#include "extension/link_rules.h"
#include "handover/handover_config.h"
#include "packet/attempt_models.h"
#include "packet/wired_link.h"
#include "queue/queue_config.h"
#include "relay/delay_rule.h"
#include "relay/snoop.h"
#include "runtime/telemetry_rates.h"
#include "settings/configuration.h"
#include "station/link_settings.h"
#include "tun/tun_device.h"
#include "umts/cell.h"
#include "wlan/wlan_config.h"

namespace wip::emulator {

using cell_model::channel_config;
using cell_model::emulated_cell;
using cell_model::emulation_config;
using cell_model::slot_start;
using cell_model::snr_source;

struct interface_config {
    std::string network_namespace;  // name as in /run/netns; empty: that of the process
    tun_settings tun;
    std::string control_endpoint, telemetry_endpoint;
};

// The link that carries the packets between the interfaces (link.kind).
using link_kind = config::link_kind_choice;

struct wlan_path_config {
    wlan::wlan_config cell;
    packet_model::attempt_config errors;
    bool errors_up = true, errors_down = true;  // whether frames in that direction have errors
    int errors_station = 0;  // number of the station on whose last hop alone are errors; 0: all
    packet_model::wired_config to_base, from_base;
};

// Files of a recorded network; empty: none, or for the uplink that of the downlink.
struct trace_path_config {
    struct direction {
        std::string file, light_file;
        int queue_packets = 0;
        queue_config queue;
    };
    direction down, up;
    double delay_ms = 0;
    std::uint64_t seed = 1;
};

struct emulator_config {
    std::string name;
    // The settings as the table has them, for a kind of link that has no fields here; nullptr where
    // no table was read.
    std::shared_ptr<const config::emulator_configuration> given;
    link_kind kind = link_kind::ofdm;
    umts::bearer_config bearer;
    umts::cell_config umts_cell;
    cells::cells_config wcdma;
    double spike_ms = 0, outage_ms = 0;  // both begin at the moment at which they are set
    emulation_config cell;
    extension::link_rules_config rules;  // user's own rules of the OFDM cell
    wlan_path_config wlan;
    hetnet::handover_config handover;
    trace_path_config recorded;
    // Injected delay of acknowledgements on their way to the terminals, and to the server.
    delay_injection_config delay_down, delay_up;
    snoop_config snoop;  // between the wired network and the radio link
    channel_config channel;
    interface_config server;
    std::vector<interface_config> terminals;
    // whether every terminal repairs damaged TCP segments (relay/tcpl_recovery.h)
    bool tcp_l = false;
    bool controller = false;  // virtual time: a relay of TCP between the wired network and the link
    std::string air_control_endpoint;
    host::telemetry_rates telemetry;
    double pacing_limit_ms = 0;
    std::string user;
};

const std::vector<config::key>& emulator_keys();

// An IPv6 address with prefix length that has been checked.
in6_addr bytes_of_address6(const std::string& address);

// Checks across keys, translates. Throws config::error.
emulator_config translate(config::settings& settings);

// The sources of SNRs that the configuration asks for, one for each user. Throws config::error.
std::vector<snr_source> make_sources(const emulator_config& config);

}  // namespace wip::emulator
