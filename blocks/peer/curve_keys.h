// SPDX-License-Identifier: GPL-3.0-or-later
// Keys of a line over a network (CURVE of ZeroMQ): the folder that ./openwip keys makes. The end
// that binds has server.key and client.public, the one that connects client.key and server.public;
// each knows the other's public key, and speaks to nobody else.
#pragma once

#include <string>

#include "peer/peer_link.h"

namespace wip::peer {

// The keys in Z85, 40 characters each.
struct curve_keys {
    std::string own_public, own_secret, other_public;
};

// Throws bad_input: "FILE: what is wrong".
curve_keys read_curve_keys(const std::string& folder, end which);

}  // namespace wip::peer
