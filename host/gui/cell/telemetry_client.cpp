// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/cell/telemetry_client.h"

#include <array>
#include <chrono>

#include "types/failure.h"

namespace wip::gui {
namespace {

// `frames` and `ip` are left out: they are for captures, and a publisher does not make a topic
// without subscribers.
constexpr std::array<const char*, 10> topics{"status", "slot", "receiver", "packet",  "event",
                                             "air",    "tcp",  "cpu",      "verdict", "attenuator"};
constexpr int most_messages = 5000;                // messages that may wait at a socket
constexpr std::int64_t largest_message = 4 << 20;  // bytes

}  // namespace

std::int64_t steady_ns() {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(
               std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

void use_keys(zmq::socket_t& socket, const curve_keys& keys) {
    if (!keys.any()) return;
    socket.set(zmq::sockopt::curve_serverkey, keys.server_public);
    socket.set(zmq::sockopt::curve_publickey, keys.own_public);
    socket.set(zmq::sockopt::curve_secretkey, keys.own_secret);
}

telemetry_client::telemetry_client() : context_(1) {}

void telemetry_client::connect(const std::string& source, const std::string& endpoint,
                               const curve_keys& keys) {
    try {
        zmq::socket_t socket(context_, zmq::socket_type::sub);
        socket.set(zmq::sockopt::linger, 0);
        socket.set(zmq::sockopt::rcvhwm, most_messages);
        socket.set(zmq::sockopt::maxmsgsize, largest_message);
        socket.set(zmq::sockopt::reconnect_ivl, 100);
        socket.set(zmq::sockopt::reconnect_ivl_max, 1000);
        use_keys(socket, keys);
        for (const char* topic : topics) socket.set(zmq::sockopt::subscribe, topic);
        socket.connect(endpoint);
        sockets_.insert_or_assign(source, std::move(socket));
    } catch (const zmq::error_t& e) {
        throw bad_input(endpoint + ": " + e.what() + "; valid: ipc://PATH or tcp://HOST:PORT");
    }
}

void telemetry_client::disconnect_all() { sockets_.clear(); }

int telemetry_client::drain(const message_sink& sink, int most) {
    // The sockets are read in turns, so that a reader that was held up takes messages of the same
    // time together.
    constexpr int turn = 16;
    int all = 0;
    for (bool more = true; more && all < most;) {
        more = false;
        for (auto& [source, socket] : sockets_) {
            int taken = 0;
            while (taken < turn && take_one(source, socket, sink)) ++taken;
            more = more || taken == turn;
            all += taken;
        }
    }
    return all;
}

bool telemetry_client::take_one(const std::string& source, zmq::socket_t& socket,
                                const message_sink& sink) {
    zmq::message_t frame;
    if (!socket.recv(frame, zmq::recv_flags::dontwait)) return false;
    message_.received_ns = steady_ns();
    message_.source = source;
    message_.topic.assign(static_cast<const char*>(frame.data()), frame.size());
    message_.body.clear();
    int frames = 1;
    while (frame.more()) {
        // The parts of a message arrive together; this does not wait.
        if (!socket.recv(frame, zmq::recv_flags::none)) break;
        if (++frames == 2)
            message_.body.assign(static_cast<const char*>(frame.data()), frame.size());
    }
    message_.two_frames = frames == 2;
    sink(message_);
    return true;
}

}  // namespace wip::gui
