// SPDX-License-Identifier: GPL-3.0-or-later
// The two directions of a link that is not the OFDM cell, as the process of such links
// (link_process.h) has them: what it carries, and what is said of it. A further kind of link is one
// of these, its value of link.kind, and a line in make_links().
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "emulator/emulator_config.h"
#include "port/packet_link.h"
#include "schema/control.pb.h"

namespace wip::emulator {

class link_pair {
public:
    virtual ~link_pair() = default;
    // Of server and terminal. Either moves both on, and says when both want to be moved on.
    virtual packet_link& downlink() = 0;
    virtual packet_link& uplink() = 0;
    // Beside the sums: what the link counts.
    virtual void fill_base(openwip::control::MacStatus& status) const = 0;
    virtual void fill_terminal(openwip::control::MacStatus& status) const = 0;
    // Live settings of this link, from now on. Nothing else is different in `wanted`.
    virtual void apply(const emulator_config& wanted) = 0;
};

// By link.kind, which is not ofdm.
std::unique_ptr<link_pair> make_links(const emulator_config& config);

}  // namespace wip::emulator
