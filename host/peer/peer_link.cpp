// SPDX-License-Identifier: GPL-3.0-or-later
#include "peer/peer_link.h"

#include "peer/ring_link.h"
#include "peer/zmq_link.h"

namespace wip::peer {

std::unique_ptr<peer_link> make_link(const link_config& config) {
    if (config.endpoint.starts_with("shm://")) return std::make_unique<ring_link>(config);
    return std::make_unique<zmq_link>(config);
}

}  // namespace wip::peer
