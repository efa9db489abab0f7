// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/link_socket.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>

namespace wip::host {
namespace {

// Largest message taken: an uplink slot at 1 Gbit/s is 83 kB.
constexpr std::int64_t largest_message = 4 << 20;
// A station that cannot send this many slots is seconds behind.
constexpr int queue_limit = 4096;
constexpr int linger_ms = 200;  // for the last word

bool somebody_listens(const std::string& path) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (path.size() >= sizeof address.sun_path) return false;
    std::memcpy(address.sun_path, path.data(), path.size());
    const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0) return false;
    const bool yes = ::connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
    ::close(fd);
    return yes;
}

}  // namespace

std::string ipc_path(const std::string& endpoint) {
    return endpoint.starts_with("ipc://") ? endpoint.substr(6) : "";
}

void bind_endpoint(zmq::socket_t& socket, const std::string& endpoint, const std::string& key) {
    const std::string what = key + " = " + endpoint + ": ";
    const std::string path = ipc_path(endpoint);
    if (!path.empty()) {
        if (somebody_listens(path))
            throw endpoint_error(what + "in use: another process listens there");
        struct stat info {};
        if (::lstat(path.c_str(), &info) == 0 && !S_ISSOCK(info.st_mode))
            throw endpoint_error(what + "a file is in the way that is not a socket");
        const auto folder = path.substr(0, path.rfind('/') + 1);
        if (!folder.empty() && ::access(folder.c_str(), F_OK) != 0)
            throw endpoint_error(what + "there is no folder " + folder);
    }
    const mode_t before = ::umask(0177);
    try {
        socket.bind(endpoint);
    } catch (const zmq::error_t& e) {
        ::umask(before);
        throw endpoint_error(what + e.what());
    }
    ::umask(before);
}

link_socket::link_socket(zmq::context_t& context, const std::string& endpoint, end which,
                         const std::string& name)
    : socket_(context, zmq::socket_type::pair),
      monitor_(context, zmq::socket_type::pair),
      name_(name),
      which_(which) {
    socket_.set(zmq::sockopt::sndhwm, queue_limit);
    socket_.set(zmq::sockopt::rcvhwm, queue_limit);
    socket_.set(zmq::sockopt::linger, linger_ms);
    socket_.set(zmq::sockopt::maxmsgsize, largest_message);
    socket_.set(zmq::sockopt::reconnect_ivl, 50);
    const std::string events = "inproc://monitor." + name;
    if (zmq_socket_monitor(socket_.handle(), events.c_str(),
                           ZMQ_EVENT_ACCEPTED | ZMQ_EVENT_CONNECTED |
                               ZMQ_EVENT_HANDSHAKE_SUCCEEDED | ZMQ_EVENT_DISCONNECTED) != 0)
        throw zmq::error_t();
    monitor_.connect(events);
    if (which == end::bind) {
        bind_endpoint(socket_, endpoint, "endpoints." + name);
    } else {
        try {
            socket_.connect(endpoint);
        } catch (const zmq::error_t& e) {
            throw endpoint_error("endpoints." + name + " = " + endpoint + ": " + e.what());
        }
    }
}

bool link_socket::on_monitor() {
    bool lost = false;
    zmq::message_t frame;
    while (monitor_.recv(frame, zmq::recv_flags::dontwait)) {
        std::uint16_t event = 0;
        std::uint32_t value = 0;
        if (frame.size() < sizeof event + sizeof value) continue;
        const auto* bytes = frame.data<std::uint8_t>();
        std::memcpy(&event, bytes, sizeof event);
        std::memcpy(&value, bytes + sizeof event, sizeof value);
        while (frame.more() && monitor_.recv(frame, zmq::recv_flags::dontwait)) {
        }
        const int fd = static_cast<int>(value);
        if (event == ZMQ_EVENT_ACCEPTED || event == ZMQ_EVENT_CONNECTED) {
            accepted_fd_ = fd;
        } else if (event == ZMQ_EVENT_HANDSHAKE_SUCCEEDED && live_fd_ < 0) {
            live_fd_ = accepted_fd_;
            connected_ = true;
            lost = false;
        } else if (event == ZMQ_EVENT_DISCONNECTED && fd == live_fd_) {
            live_fd_ = -1;
            connected_ = false;
            lost = true;
        }
    }
    return lost;
}

bool link_socket::receive(zmq::message_t& out) {
    while (socket_.recv(out, zmq::recv_flags::dontwait)) {
        if (!out.more()) return true;
        while (out.more() && socket_.recv(out, zmq::recv_flags::dontwait)) {
        }
        ++odd_messages;
    }
    return false;
}

bool link_socket::send(const void* data, std::size_t size) {
    return socket_.send(zmq::const_buffer(data, size), zmq::send_flags::dontwait).has_value();
}

}  // namespace wip::host
