// SPDX-License-Identifier: GPL-3.0-or-later
// Checked settings translated into the structs of the link, the uplink and the wired network: the
// same groups of settings for macd and for the emulator.
#pragma once

#include <cstdint>
#include <utility>

#include "link/link_config.h"
#include "packet/emulated_uplink.h"
#include "packet/wired_link.h"
#include "settings/configuration.h"

namespace wip::host {

// Configurations from the groups of settings that macd and the emulator have: link, uplink, wired
// network.
link_config link_from(const config::link_settings& v, std::uint64_t seed);
uplink_config uplink_from(const config::uplink_settings& v, std::uint64_t seed);
std::pair<packet_model::wired_config, packet_model::wired_config> wired_from(
    const config::to_base_settings& to_base, const config::from_base_settings& from_base,
    std::uint64_t seed);

// Throws config::error: an interface with an IPv6 address has a tun.mtu of less than 1280 bytes
// (RFC 8200). `keys`: the settings that may give the address.
void check_mtu(const config::settings& s, int mtu, bool has_ipv6, const char* keys);

}  // namespace wip::host
