// SPDX-License-Identifier: GPL-3.0-or-later
// One end of a line of messages between two processes that know whether the other one is there:
// flowgraph and macd, macd and macd. Two kinds, chosen by the address:
//   shm://PATH            two rings in shared memory, for processes of one machine (ring_link.cpp)
//   ipc://PATH, tcp://... ZeroMQ (zmq_link.cpp), over a network with keys
//
// One thread uses it, and sleeps so:
//   if (link.rest()) poll(message_fd, connection_fd, ...);
//   link.rise(message_fd is readable);
//   while (link.receive(bytes)) ...
//   if (connection_fd is readable) link.watch();
// The other end pays for a system call only when this one rests.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>

namespace wip::peer {

enum class end : std::uint8_t { bind, connect };

struct link_config {
    std::string endpoint;
    end which = end::bind;
    std::string name;  // endpoint's name in errors: endpoints.NAME
    // The other end is lost when it does not even answer the link itself for so long (stopped, hung
    // machine); 0: never.
    std::chrono::milliseconds silence{0};
    std::string keys{};  // folder (curve_keys.h), for a line over a network; empty: none
};

class peer_link {
public:
    virtual ~peer_link() = default;

    // Descriptors that are readable when there may be a message, and when the connection has an
    // event. They stay the same.
    virtual int message_fd() const = 0;
    virtual int connection_fd() const = 0;

    virtual bool connected() const = 0;
    // Handles the events of the connection; true when the established one was lost. Messages that
    // the other end had sent before can still be received.
    virtual bool watch() = 0;

    // True when there is a message; valid until the next call.
    virtual bool receive(std::span<const std::uint8_t>& out) = 0;
    // Never blocks; returns false when there is no partner, or the queue is full. `can_wait`: an
    // end that rests for urgent messages only is not woken by it (shm alone makes this difference).
    virtual bool send(std::span<const std::uint8_t> message, bool can_wait = false) = 0;

    // Call before sleeping on message_fd(). False: something may have come, receive first.
    virtual bool rest(bool for_urgent_only = false) = 0;
    // Call after waking up.
    virtual void rise(bool readable) = 0;

    // Received data that is no message: from strangers, or with wrong framing.
    std::uint64_t malformed_messages = 0;
    // Why the last process that wanted to connect, or this one, was refused; empty: none was.
    std::string refusal{};
    // Number of refusals because the line has a partner already (ZeroMQ). The second process is
    // told so, and tries again.
    std::uint64_t occupied = 0;
};

// These open a line of either kind. They throw bad_input.
std::unique_ptr<peer_link> make_ring_link(const link_config& config);
std::unique_ptr<peer_link> make_zmq_link(const link_config& config);
inline std::unique_ptr<peer_link> make_link(const link_config& config) {
    return config.endpoint.starts_with("shm://") ? make_ring_link(config) : make_zmq_link(config);
}

}  // namespace wip::peer
