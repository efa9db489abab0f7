// SPDX-License-Identifier: GPL-3.0-or-later
// A ZeroMQ PAIR socket that knows whether the other end is there. ZeroMQ hides connections; its
// monitor tells of them, and a kill -9 of the other process shows at once as a closed connection,
// long before a timeout. Strangers that try to join a pair, or that do not speak the protocol, are
// turned away by ZeroMQ and leave the connection count alone.
#pragma once

#include <cstdint>
#include <string>
#include <zmq.hpp>

namespace wip::host {

class link_socket {
public:
    enum class end : std::uint8_t { bind, connect };
    // Throws endpoint_error.
    link_socket(zmq::context_t& context, const std::string& endpoint, end which,
                const std::string& name);

    zmq::socket_t& socket() { return socket_; }
    zmq::socket_t& monitor() { return monitor_; }
    const std::string& name() const { return name_; }
    bool connected() const { return connected_; }

    // Reads what the monitor has; true when the established connection was lost.
    bool on_monitor();
    // True when there is a message in `out` (single frame). Multi-frame messages are skipped and
    // counted in `odd_messages`.
    bool receive(zmq::message_t& out);
    std::uint64_t odd_messages = 0;
    // Never blocks; false when there is nobody, or the queue is full.
    bool send(const void* data, std::size_t size);

private:
    zmq::socket_t socket_;
    zmq::socket_t monitor_;
    std::string name_;
    end which_;
    bool connected_ = false;
    int accepted_fd_ = -1;
    int live_fd_ = -1;
};

// One line: endpoint and what is wrong with it.
class endpoint_error : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

// Binds so that only this user and root can connect (umask), and refuses an ipc path that a living
// process listens on: ZeroMQ would silently take it over.
void bind_endpoint(zmq::socket_t& socket, const std::string& endpoint, const std::string& key);
// File of an ipc endpoint, or empty.
std::string ipc_path(const std::string& endpoint);

}  // namespace wip::host
