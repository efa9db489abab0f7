// SPDX-License-Identifier: GPL-3.0-or-later
// A cell of another machine: which of its ports is what, and the keys to them. `demo --listen
// tcp://ADDR:PORT` forwards the sockets of a cell on PORT, PORT + 1, ... in the order of
// forwarded[].
#pragma once

#include <string>
#include <vector>

#include "gui/cell/session.h"

namespace wip::gui {

struct forwarded_socket {
    const char* source;
    bool telemetry;  // false: control
};
inline constexpr forwarded_socket forwarded[] = {
    {"air", false},     {"base", false},    {"terminal", false}, {"base", true},
    {"terminal", true}, {"observer", true}, {"keeper", true},    {"attenuator", true}};

// Words of --connect and --control to endpoints. A lone tcp://HOST:PORT is a forwarded cell;
// otherwise each is SOURCE=ENDPOINT. Throws bad_input with one line.
void use_endpoints(const std::vector<std::string>& connect, const std::vector<std::string>& control,
                   session_options& options);

// `folder` with server.public and client.key, or the server's key and a file with our own; empty:
// none.
curve_keys read_keys(const std::string& folder, const std::string& server_key,
                     const std::string& key_file);

}  // namespace wip::gui
