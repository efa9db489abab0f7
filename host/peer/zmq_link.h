// SPDX-License-Identifier: GPL-3.0-or-later
// A ZeroMQ PAIR socket as a peer_link. ZeroMQ hides connections; its monitor tells of them, and a
// kill -9 of the other process shows at once as a closed connection, long before a timeout.
// Strangers that try to join a pair, or that do not speak the protocol, are turned away by ZeroMQ
// and leave the connection count alone. Silence is told by ZMTP heartbeats.
#pragma once

#include <zmq.hpp>

#include "peer/peer_link.h"

namespace wip::peer {

class zmq_link final : public peer_link {
public:
    explicit zmq_link(const link_config& config);  // throws endpoint_error

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
    zmq::context_t context_{1};
    zmq::socket_t socket_;
    zmq::socket_t monitor_;
    int message_fd_ = -1, connection_fd_ = -1;
    bool connected_ = false;
    bool open_ = true;
    int accepted_fd_ = -1;
    int live_fd_ = -1;
    zmq::message_t in_;
};

}  // namespace wip::peer
