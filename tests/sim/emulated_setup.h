// SPDX-License-Identifier: GPL-3.0-or-later
// An emulated cell as the emulator begins: that of the literature (wipemu).
#pragma once

#include "cell/cell_channel.h"
#include "cell/emulated_cell.h"

namespace wip::sim {

struct emulated_setup {
    cell_model::emulation_config cell;
    cell_model::channel_config channel;

    emulated_setup() {
        link().profile = link_profile::wipemu;
        link().packing = link().in_order = false;
        link().deliver_corrupt = true;
    }
    link_config& link() { return cell.cell.link; }
    const link_config& link() const { return cell.cell.link; }
    std::vector<cell_model::snr_source> sources() const { return make_sources(channel, cell); }
};

}  // namespace wip::sim
