// SPDX-License-Identifier: GPL-3.0-or-later
// The configuration of wip_split.
#pragma once

#include <string>
#include <vector>

#include "config/schema.h"
#include "split/proxy.h"

namespace wip::split {

struct split_config {
    proxy_config proxy;
    std::string control_endpoint, user;
};

const std::vector<config::key>& split_keys();

// Throws config::error.
split_config translate(config::settings& settings);

}  // namespace wip::split
