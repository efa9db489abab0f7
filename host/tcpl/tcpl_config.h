// SPDX-License-Identifier: GPL-3.0-or-later
// The configuration of wip_tcpl, the program that joins two network interfaces by an emulated line
// which damages packets, with or without the relay of TCP-L (docs/explanation/corrupt-delivery.md).
#pragma once

#include <string>
#include <vector>

#include "config/schema.h"
#include "tcpl/damaged_path.h"
#include "tun/tun_device.h"

namespace wip::tcpl {

struct end_config {
    std::string network_namespace;  // name as in /run/netns; empty: that of the process
    tun_settings tun;
};

struct tcpl_config {
    std::string user;  // name of the Unix account that the process becomes once it has its rights
    path_config path;
    end_config sender, receiver;
    std::string control_endpoint;
};

const std::vector<config::key>& tcpl_keys();

// Makes the configuration of the settings, and checks them against each other. Throws
// config::error.
tcpl_config translate(config::settings& settings);

}  // namespace wip::tcpl
