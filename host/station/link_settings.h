// SPDX-License-Identifier: GPL-3.0-or-later
// Checked settings translated into the structs of the link, the uplink, the wired network and
// telemetry: the same keys for macd and for the emulator.
#pragma once

#include <utility>

#include "config/schema.h"
#include "extension/link_rules.h"
#include "link/link_config.h"
#include "packet/emulated_uplink.h"
#include "packet/wired_link.h"
#include "runtime/telemetry_rates.h"

namespace wip::host {

// The keys `link.*`, `uplink.*`, `to_base.*` and `from_base.*`, `telemetry.*` of checked settings.
link_config link_from(const config::settings& settings);
// Checks that nothing is asked for that the user's own rules take the place of.
extension::link_rules_config link_rules_from(const config::settings& settings);
bool tcp_l_from(const config::settings& settings);
uplink_config uplink_from(const config::settings& settings);
std::pair<packet_model::wired_config, packet_model::wired_config> wired_from(
    const config::settings& settings);
telemetry_rates telemetry_from(const config::settings& settings);

}  // namespace wip::host
