// SPDX-License-Identifier: GPL-3.0-or-later
#include "runtime/telemetry_reader.h"

#include <cstring>

#include "types/failure.h"

namespace wip::host {
namespace {
// Frames and IP packets of one terminal, 100 messages/s each, for ten seconds; messages that do not
// fit are lost, and the counts in the messages show it.
constexpr int most_waiting = 2000;
// short, so that a cell that is just starting is received from its first slot on
constexpr int reconnect_ms = 10;
}  // namespace

telemetry_reader::telemetry_reader(zmq::context_t& context, const std::string& endpoint,
                                   const std::string& name, const std::vector<std::string>& topics)
    : endpoint_(endpoint),
      socket_(context, zmq::socket_type::sub),
      monitor_(context, zmq::socket_type::pair) {
    socket_.set(zmq::sockopt::rcvhwm, most_waiting);
    socket_.set(zmq::sockopt::linger, 0);
    socket_.set(zmq::sockopt::reconnect_ivl, reconnect_ms);
    for (const auto& topic : topics) socket_.set(zmq::sockopt::subscribe, topic);
    const std::string events = "inproc://monitor." + name;
    if (zmq_socket_monitor(socket_.handle(), events.c_str(),
                           ZMQ_EVENT_HANDSHAKE_SUCCEEDED | ZMQ_EVENT_DISCONNECTED) != 0)
        throw zmq::error_t();
    monitor_.connect(events);
    try {
        socket_.connect(endpoint);
    } catch (const zmq::error_t& e) {
        throw bad_input("--" + name + " " + endpoint + ": " + e.what());
    }
}

bool telemetry_reader::receive(openwip::telemetry::Telemetry& out) {
    zmq::message_t topic, body, rest;
    while (socket_.recv(topic, zmq::recv_flags::dontwait)) {
        int parts = 1;
        for (bool more = topic.more(); more; ++parts) {
            zmq::message_t& part = parts == 1 ? body : rest;
            if (!socket_.recv(part, zmq::recv_flags::dontwait)) break;
            more = part.more();
        }
        if (parts != 2 || !out.ParseFromArray(body.data(), static_cast<int>(body.size()))) {
            ++malformed;
            continue;
        }
        if (out.version() > openwip::telemetry::VERSION_CURRENT) {
            ++newer_version;
            continue;
        }
        return true;
    }
    return false;
}

void telemetry_reader::on_monitor() {
    zmq::message_t frame;
    while (monitor_.recv(frame, zmq::recv_flags::dontwait)) {
        std::uint16_t event = 0;
        if (frame.size() >= sizeof event) std::memcpy(&event, frame.data(), sizeof event);
        while (frame.more() && monitor_.recv(frame, zmq::recv_flags::dontwait)) {
        }
        if (event == ZMQ_EVENT_HANDSHAKE_SUCCEEDED) connected_ = ever_connected_ = true;
        if (event == ZMQ_EVENT_DISCONNECTED) connected_ = false;
    }
}

}  // namespace wip::host
