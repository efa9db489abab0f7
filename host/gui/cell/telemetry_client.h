// SPDX-License-Identifier: GPL-3.0-or-later
// The SUB sockets of a window. Read without waiting once per frame: the window has to wake for its
// pictures anyway, so messages need no wake-up of their own, and no process waits for a busy
// window. ZeroMQ drops what it does not fetch in time, which the sequence numbers show.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <zmq.hpp>

#include "gui/model/raw_message.h"

namespace wip::gui {

// CURVE keys in Z85 (40 characters); empty: none.
struct curve_keys {
    std::string server_public;
    std::string own_public, own_secret;
    bool any() const { return !server_public.empty(); }
};
// Sets them on a socket before it connects.
void use_keys(zmq::socket_t& socket, const curve_keys& keys);

class telemetry_client {
public:
    telemetry_client();

    // Throws bad_input with one line when the endpoint is no endpoint.
    void connect(const std::string& source, const std::string& endpoint, const curve_keys& keys);
    void disconnect_all();
    bool knows(const std::string& source) const { return sockets_.contains(source); }

    // Hands over what is there, about `most` messages at most; returns how many.
    int drain(const message_sink& sink, int most = 4000);

private:
    // Hands one message to `sink`; false: none was waiting.
    bool take_one(const std::string& source, zmq::socket_t& socket, const message_sink& sink);

    zmq::context_t context_;
    std::map<std::string, zmq::socket_t> sockets_;
    raw_message message_;
};

std::int64_t steady_ns();

}  // namespace wip::gui
