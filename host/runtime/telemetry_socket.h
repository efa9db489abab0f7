// SPDX-License-Identifier: GPL-3.0-or-later
// The publisher of a station: a ZeroMQ XPUB socket, which tells what is subscribed to. A topic
// without subscribers is not made and does not count on. Each topic counts its messages from 1, so
// that a reader sees what it missed: one that does not read loses what goes beyond its queue, and
// nothing waits for it.
//
// Messages of ten milliseconds go to ZeroMQ together: its thread wakes up once for all of them and
// writes them in few system calls. docs/results/speed.md has what that saves.
//
// A subscription is the beginning of a topic's name ("" is the beginning of all). A bit mask for
// each topic holds the beginnings that are subscribed to, so strangers cannot make it grow;
// ZeroMQ reports the first subscriber of a beginning and the leaving of the last.
#pragma once

#include <array>
#include <string>
#include <vector>
#include <zmq.hpp>

#include "runtime/telemetry_port.h"
#include "runtime/telemetry_rates.h"

namespace wip::host {

class telemetry_socket final : public telemetry_port {
public:
    // `queue`: messages that wait for one reader, more are lost to it. Every topic is
    // due in every slot until set_every says otherwise. `key` names the endpoint in
    // errors. Throws bad_input.
    telemetry_socket(zmq::context_t& context, const std::string& endpoint, int queue,
                     const std::string& key);

    ~telemetry_socket() override;
    telemetry_socket(const telemetry_socket&) = delete;
    telemetry_socket& operator=(const telemetry_socket&) = delete;

    // Called once in each slot: sends messages that have waited, and in the first and every 15th
    // call after it listens.
    void on_slot();
    // Takes in the subscriptions since the last call, and sends messages that have waited.
    void listen();
    // Sends what waits, now.
    void flush();

    void set_rates(const telemetry_rates& rates);
    // Every nth slot; 0: never.
    void set_every(topic t, int n) { every_[index(t)] = n; }

    bool wanted(topic t) const override { return beginnings_[index(t)] != 0; }
    int every(topic t) const override { return wanted(t) ? every_[index(t)] : 0; }
    openwip::telemetry::Telemetry& message(topic t) override { return messages_[index(t)]; }
    void publish(topic t, slot now, int user = 0) override;

    std::uint64_t sequence(topic t) const { return sequences_[index(t)]; }
    // Messages of readers that are no subscription to one of the topics.
    std::uint64_t malformed_messages() const { return malformed_messages_; }

private:
    static constexpr std::size_t index(topic t) { return static_cast<std::size_t>(t); }
    void take(const zmq::message_t& subscription);
    void send_waiting();

    struct waiting {
        topic name;
        zmq::message_t body;
    };

    zmq::socket_t socket_;
    // bit n: the first n letters of the topic's name are subscribed to
    std::array<std::uint32_t, nof_topics> beginnings_{};
    std::array<int, nof_topics> every_;
    std::array<std::uint64_t, nof_topics> sequences_{};
    std::array<openwip::telemetry::Telemetry, nof_topics> messages_;
    std::vector<waiting> waiting_;
    std::int64_t waiting_since_ns_ = 0;
    bool go_ = false;  // messages are sent with the next on_slot() or listen()
    int slots_until_listen_ = 0;
    std::uint64_t malformed_messages_ = 0;
};

}  // namespace wip::host
