// SPDX-License-Identifier: GPL-3.0-or-later
// Addresses of sockets: shm://PATH, ipc://PATH and tcp://ADDRESS:PORT.
#pragma once

#include <stdexcept>
#include <string>
#include <zmq.hpp>

namespace wip::peer {

// The socket file of an endpoint, or empty.
std::string socket_path(const std::string& endpoint);

// Throws bad_input unless `path` can be bound: its folder is there, and nothing is in the way
// but the socket of a process that is gone. `what`: begins the message.
void check_free(const std::string& path, const std::string& what);

// Binds so that only this user and root can connect (umask), and refuses an ipc path that a living
// process listens on: ZeroMQ would silently take it over. Throws bad_input.
void bind_endpoint(zmq::socket_t& socket, const std::string& endpoint, const std::string& key);

}  // namespace wip::peer
