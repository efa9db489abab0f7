// SPDX-License-Identifier: GPL-3.0-or-later
// A ZeroMQ socket as a peer_link: PAIR, or over TCP ROUTER (bound) and DEALER, since a PAIR that is
// not done with its last partner leaves the next one connected and unheard. ZeroMQ hides
// connections; its monitor tells of them, and a
// kill -9 of the other process shows at once as a closed connection, long before a timeout.
// Strangers that try to join a pair, or that do not speak the protocol, are turned away by ZeroMQ
// and leave the connection count alone. Silence is told by ZMTP heartbeats.
//
// Over TCP nothing is kept for a partner who is not there: what is old when he comes is of no use.
// With keys (curve_keys.h) the binding end asks of everybody who connects whether his is the one
// that it knows (ZAP, RFC 27, in this thread).
#pragma once

#include <optional>
#include <zmq.hpp>

#include "peer/peer_link.h"

namespace wip::peer {

class zmq_link final : public peer_link {
public:
    explicit zmq_link(const link_config& config);  // throws bad_input
    ~zmq_link() override;
    zmq_link(const zmq_link&) = delete;
    zmq_link& operator=(const zmq_link&) = delete;

    int message_fd() const override { return message_fd_; }
    int connection_fd() const override { return connection_fd_; }
    bool connected() const override { return connected_; }
    bool watch() override;
    bool receive(std::span<const std::uint8_t>& out) override;
    bool send(std::span<const std::uint8_t> message, bool can_wait) override;
    // A ZeroMQ descriptor signals once: a socket that was used since is "open" until a receive has
    // found it empty, and nobody sleeps over an open one.
    bool rest(bool) override { return !open_; }
    void rise(bool readable) override { open_ |= readable; }

private:
    void use_keys(const link_config& config);
    void watch_for(zmq::socket_t& socket);
    void answer_doorbell();
    bool receive_routed();

    zmq::context_t context_{1};
    std::optional<zmq::socket_t> door_;  // asks whether a key may come in
    std::string allowed_;                // that key, 32 bytes
    zmq::socket_t socket_;
    zmq::socket_t monitor_;
    int message_fd_ = -1, connection_fd_ = -1;
    bool connected_ = false;
    int both_fd_ = -1;  // of door and monitor, where there are both
    bool open_ = true;
    const bool routed_;    // bound, over TCP
    std::string partner_;  // his routing id: of the first message of his connection
    int accepted_fd_ = -1;
    int live_fd_ = -1;
    zmq::message_t in_;
};

}  // namespace wip::peer
