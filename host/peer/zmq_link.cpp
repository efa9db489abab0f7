// SPDX-License-Identifier: GPL-3.0-or-later
#include "peer/zmq_link.h"

#include <algorithm>
#include <cstring>

#include "peer/endpoint.h"

namespace wip::peer {
namespace {

// Largest message taken: an uplink slot at 1 Gbit/s is 83 kB.
constexpr std::int64_t largest_message = 4 << 20;
// A station that cannot send this many slots is seconds behind.
constexpr int queue_limit = 4096;
constexpr int linger_ms = 200;  // for the last word
constexpr int reconnect_ms = 50;
const char* const monitor_address = "inproc://monitor";

}  // namespace

zmq_link::zmq_link(const link_config& config)
    : socket_(context_, zmq::socket_type::pair), monitor_(context_, zmq::socket_type::pair) {
    socket_.set(zmq::sockopt::sndhwm, queue_limit);
    socket_.set(zmq::sockopt::rcvhwm, queue_limit);
    socket_.set(zmq::sockopt::linger, linger_ms);
    socket_.set(zmq::sockopt::maxmsgsize, largest_message);
    socket_.set(zmq::sockopt::reconnect_ivl, reconnect_ms);
    if (const int silence_ms = static_cast<int>(config.silence.count()); silence_ms > 0) {
        socket_.set(zmq::sockopt::heartbeat_ivl, std::max(silence_ms / 4, 25));
        socket_.set(zmq::sockopt::heartbeat_timeout, silence_ms);
    }
    if (zmq_socket_monitor(socket_.handle(), monitor_address,
                           ZMQ_EVENT_ACCEPTED | ZMQ_EVENT_CONNECTED |
                               ZMQ_EVENT_HANDSHAKE_SUCCEEDED | ZMQ_EVENT_DISCONNECTED) != 0)
        throw zmq::error_t();
    monitor_.connect(monitor_address);
    if (config.which == end::bind) {
        bind_endpoint(socket_, config.endpoint, "endpoints." + config.name);
    } else {
        try {
            socket_.connect(config.endpoint);
        } catch (const zmq::error_t& e) {
            throw endpoint_error("endpoints." + config.name + " = " + config.endpoint + ": " +
                                 e.what());
        }
    }
    message_fd_ = socket_.get(zmq::sockopt::fd);
    connection_fd_ = monitor_.get(zmq::sockopt::fd);
}

// The monitor's messages have two parts: event number (16 bits) and value (32 bits), then an
// address.
bool zmq_link::watch() {
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

bool zmq_link::receive(std::span<const std::uint8_t>& out) {
    while (socket_.recv(in_, zmq::recv_flags::dontwait)) {
        if (!in_.more()) {
            out = {in_.data<std::uint8_t>(), in_.size()};
            return open_ = true;
        }
        while (in_.more() && socket_.recv(in_, zmq::recv_flags::dontwait)) {
        }
        ++odd_messages;
    }
    return open_ = false;
}

bool zmq_link::send(std::span<const std::uint8_t> message, bool) {
    open_ = true;
    return socket_
        .send(zmq::const_buffer(message.data(), message.size()), zmq::send_flags::dontwait)
        .has_value();
}

}  // namespace wip::peer
