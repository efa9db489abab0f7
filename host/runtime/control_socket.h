// SPDX-License-Identifier: GPL-3.0-or-later
// The REP socket of a process: one Request of control.proto in, one Reply out. What does not parse,
// or comes in several frames, gets Reply{ok: false} and nothing else happens; so does a request
// whose handler throws, with the exception's text.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>
#include <zmq.hpp>

#include "schema/control.pb.h"

namespace wip::host {

class control_socket {
public:
    // Throws bad_input; `key` names the endpoint in its text.
    control_socket(zmq::context_t& context, const std::string& endpoint, const std::string& key);

    zmq::socket_t& socket() { return socket_; }

    enum class result : std::uint8_t { nothing, answered, malformed };
    // Answers one request, if there is one. Never blocks.
    using handler = std::function<void(const openwip::control::Request&, openwip::control::Reply&)>;
    result serve(const handler& handle);

private:
    zmq::socket_t socket_;
    std::vector<std::uint8_t> out_;
};

}  // namespace wip::host
