// SPDX-License-Identifier: GPL-3.0-or-later
// Endpoints of sockets, as configurations name them.
#pragma once

#include <string>
#include <string_view>

#include "config/schema.h"

namespace wip::config {

// Empty when `text` is an endpoint on this machine, else what would be one.
std::string check_endpoint(std::string_view text);
// Of a line between two processes of this machine or not: also shm://PATH (peer/peer_link.h).
std::string check_line_endpoint(std::string_view text);
// RUN/ at the start of an ipc path becomes $OPENWIP_RUN.
void fill_in_run_folder(settings& settings, const std::string& path);

}  // namespace wip::config
