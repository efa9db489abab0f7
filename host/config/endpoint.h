// SPDX-License-Identifier: GPL-3.0-or-later
// Texts that the table of settings evaluates by name, for every program: endpoints of sockets,
// words.
#pragma once

#include <string>
#include <string_view>

#include "config/schema.h"

namespace wip::config {

// Empty when `text` is an endpoint that only its owner reaches, else what would be one.
std::string check_endpoint(std::string_view text);
// Checks an endpoint between two processes of the same or of two machines; shm://PATH is valid, too
// (peer/peer_link.h).
std::string check_line_endpoint(std::string_view text);
// The same, and tcp://ADDRESS:PORT, which has to have keys.
std::string check_uplink_endpoint(std::string_view text);
std::string check_endpoint_or_none(std::string_view text);
// An account, the name of a cell; a network namespace as in /run/netns, or none.
std::string check_word(std::string_view text);
std::string check_namespace(std::string_view text);
std::string check_folder_or_none(std::string_view text);
// RUN/ at the start of the path of an endpoint becomes $OPENWIP_RUN.
void fill_in_run_folder(settings& settings);

}  // namespace wip::config
