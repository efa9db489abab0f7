// SPDX-License-Identifier: GPL-3.0-or-later
#include "runtime/telemetry_socket.h"

#include <time.h>

#include "os/monotonic.h"
#include "peer/endpoint.h"
#include "types/grid.h"

namespace wip::host {
namespace {

// A subscription is a few letters; what is larger is cut off with its sender.
constexpr std::int64_t largest_subscription = 4096;
// Taken in one slot at most: a flood of subscriptions must not keep the slots waiting.
constexpr int batch = 16;
// ZeroMQ makes a system call to say that there is no subscription: not in every slot.
constexpr int slots_between_listens = 15;
// A message waits no longer for others to go with, nor for more of them. Those that hold the
// records of several slots have waited: they go with the slot that they are published in.
constexpr std::int64_t longest_wait_ns = 10'000'000;
constexpr std::size_t most_waiting = 100;  // messages of one flush

constexpr bool has_waited(topic t) {
    return t == topic::frames || t == topic::ip || t == topic::packet;
}

}  // namespace

telemetry_socket::telemetry_socket(zmq::context_t& context, const std::string& endpoint, int queue,
                                   const std::string& key)
    : socket_(context, zmq::socket_type::xpub) {
    socket_.set(zmq::sockopt::linger, 200);
    socket_.set(zmq::sockopt::sndhwm, queue);
    socket_.set(zmq::sockopt::maxmsgsize, largest_subscription);
    every_.fill(1);
    peer::bind_endpoint(socket_, endpoint, key);
}

void telemetry_socket::set_rates(const telemetry_rates& rates) {
    set_every(topic::status, slots_per_second / 10);
    set_every(topic::slot, rates.slot_every);
    set_every(topic::receiver, rates.receiver_every);
    set_every(topic::frames, rates.frames_every);
    set_every(topic::event, slots_per_second / 10);
}

telemetry_socket::~telemetry_socket() { flush(); }

void telemetry_socket::flush() {
    for (auto& w : waiting_) {
        const auto name = topic_names[index(w.name)];
        socket_.send(zmq::const_buffer(name.data(), name.size()),
                     zmq::send_flags::sndmore | zmq::send_flags::dontwait);
        socket_.send(w.body, zmq::send_flags::dontwait);
    }
    waiting_.clear();
    go_ = false;
}

void telemetry_socket::on_slot() {
    if (slots_until_listen_-- > 0) {
        send_waiting();
        return;
    }
    slots_until_listen_ = slots_between_listens - 1;
    listen();
}

void telemetry_socket::send_waiting() {
    if (go_ || (!waiting_.empty() && os::monotonic_ns() - waiting_since_ns_ >= longest_wait_ns))
        flush();
}

void telemetry_socket::listen() {
    send_waiting();
    zmq::message_t in;
    for (int i = 0; i < batch && socket_.recv(in, zmq::recv_flags::dontwait); ++i) {
        if (!in.more()) {
            take(in);
            continue;
        }
        while (in.more() && socket_.recv(in, zmq::recv_flags::dontwait)) {
        }
        ++malformed_messages_;
    }
}

void telemetry_socket::take(const zmq::message_t& subscription) {
    const std::string_view text = subscription.to_string_view();
    const bool is_one = !text.empty() && (text[0] == 0 || text[0] == 1);
    bool known = false;
    for (std::size_t t = 0; is_one && t < nof_topics; ++t) {
        if (!topic_names[t].starts_with(text.substr(1))) continue;
        known = true;
        const std::uint32_t bit = 1U << (text.size() - 1);
        beginnings_[t] = text[0] == 1 ? beginnings_[t] | bit : beginnings_[t] & ~bit;
    }
    if (!known) ++malformed_messages_;
}

void telemetry_socket::publish(topic t, slot now, int user) {
    if (!wanted(t)) return;
    auto& message = messages_[index(t)];
    message.set_sequence(++sequences_[index(t)]);
    message.set_slot(now.value);
    message.set_version(openwip::telemetry::VERSION_CURRENT);
    message.set_wall_ns(os::monotonic_ns());
    message.set_user(static_cast<std::uint32_t>(user));
    zmq::message_t body(message.ByteSizeLong());
    message.SerializeWithCachedSizesToArray(body.data<std::uint8_t>());
    if (waiting_.empty()) waiting_since_ns_ = message.wall_ns();
    waiting_.push_back({t, std::move(body)});
    go_ |= has_waited(t);
    if (waiting_.size() >= most_waiting) flush();
}

}  // namespace wip::host
