// SPDX-License-Identifier: GPL-3.0-or-later
// The OFDM cell, or 802.11b in its place, with delay injection between the server and it. With
// 802.11b the OFDM cell carries nothing; in real time its slots go on, for telemetry.
#pragma once

#include <memory>

#include "cell/emulated_cell.h"
#include "emulator/emulator_config.h"
#include "emulator/link_pair.h"
#include "emulator/wlan_path.h"
#include "port/link_chain.h"
#include "relay/delay_injection.h"

namespace wip::emulator {

class cell_path final : public packet_path {
public:
    explicit cell_path(const emulator_config& config);

    packet_link& downlink() override { return down_; }
    packet_link& uplink() override { return up_; }
    void fill_base(openwip::control::MacStatus& status) const override;
    void fill_terminal(openwip::control::MacStatus& status) const override;

    emulated_cell cell;
    const std::unique_ptr<wlan_path> wlan;  // null: the OFDM cell carries
    delay_injection delay_down, delay_up;

private:
    link_chain down_, up_;
};

}  // namespace wip::emulator
