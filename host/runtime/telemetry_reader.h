// SPDX-License-Identifier: GPL-3.0-or-later
// A subscriber of one publisher. It knows whether the publisher is there: ZeroMQ hides connections,
// its monitor tells of them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>
#include <zmq.hpp>

#include "schema/telemetry.pb.h"

namespace wip::host {

class telemetry_reader {
public:
    // Throws bad_input that names the endpoint.
    telemetry_reader(zmq::context_t& context, const std::string& endpoint, const std::string& name,
                     const std::vector<std::string>& topics);

    zmq::socket_t& socket() { return socket_; }
    zmq::socket_t& monitor() { return monitor_; }
    const std::string& endpoint() const { return endpoint_; }

    // The next message; false: none is waiting.
    bool receive(openwip::telemetry::Telemetry& out);
    void on_monitor();
    bool ever_connected() const { return ever_connected_; }
    bool gone() const { return ever_connected_ && !connected_; }

    std::uint64_t malformed = 0;
    std::uint64_t newer_version = 0;

private:
    std::string endpoint_;
    zmq::socket_t socket_;
    zmq::socket_t monitor_;
    bool connected_ = false, ever_connected_ = false;
};

}  // namespace wip::host
