// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/telemetry_socket.h"

#include <cstring>

#include "app/link_socket.h"
#include "types/grid.h"

namespace wip::host {
namespace {
constexpr std::int64_t status_every = slots_per_second / 10;
}

telemetry_socket::telemetry_socket(zmq::context_t& context, const std::string& endpoint,
                                   int slot_every, const std::string& key)
    : socket_(context, zmq::socket_type::pub), slot_every_(slot_every) {
    socket_.set(zmq::sockopt::linger, 200);
    socket_.set(zmq::sockopt::maxmsgsize, std::int64_t{4 << 20});
    bind_endpoint(socket_, endpoint, key);
}

bool telemetry_socket::status_due(slot now) const { return now.value % status_every == 0; }

bool telemetry_socket::sample_due(slot now) const {
    return slot_every_ > 0 && now.value % slot_every_ == 0;
}

void telemetry_socket::publish_status(slot now) {
    status_message_.set_sequence(++status_sequence_);
    status_message_.set_slot(now.value);
    publish("status", status_message_);
}

void telemetry_socket::publish_sample(slot now, const openwip::telemetry::SlotSample& sample) {
    *slot_message_.mutable_slot_sample() = sample;
    slot_message_.set_sequence(++slot_sequence_);
    slot_message_.set_slot(now.value);
    publish("slot", slot_message_);
}

void telemetry_socket::publish(const char* topic, openwip::telemetry::Telemetry& message) {
    message.set_version(openwip::telemetry::VERSION_CURRENT);
    out_.resize(message.ByteSizeLong());
    message.SerializeToArray(out_.data(), static_cast<int>(out_.size()));
    socket_.send(zmq::const_buffer(topic, std::strlen(topic)),
                 zmq::send_flags::sndmore | zmq::send_flags::dontwait);
    socket_.send(zmq::const_buffer(out_.data(), out_.size()), zmq::send_flags::dontwait);
}

}  // namespace wip::host
