// SPDX-License-Identifier: GPL-3.0-or-later
// The 802.11b cell (wlan/wlan_cell.h) in the OFDM cell's place, with the same wired network on the
// far side of its access point.
#pragma once

#include <cstdint>

#include "packet/attempt_models.h"
#include "packet/wired_link.h"
#include "port/link_chain.h"
#include "schema/control.pb.h"
#include "wlan/wlan_cell.h"

namespace wip::emulator {

struct wlan_path_config {
    wlan::wlan_config cell;
    packet_model::attempt_config errors;
    packet_model::wired_config to_base, from_base;
};

class wlan_path {
public:
    explicit wlan_path(const wlan_path_config& c)
        : to_base_(c.to_base, 1), from_base_(c.from_base, 2), cell_(c.cell, errors_of(c)) {}

    packet_link& downlink() { return downlink_; }
    packet_link& uplink() { return uplink_; }
    void reconfigure(const wlan_path_config& c, bool other_errors);

    // Both ends' counts, but for what the interfaces count; in place of the OFDM cell's.
    void fill_base(openwip::control::MacStatus& status) const;
    void fill_terminal(openwip::control::MacStatus& status) const;

private:
    static wlan::wlan_cell::make_errors errors_of(const wlan_path_config& c);

    packet_model::wired_link to_base_, from_base_;
    wlan::wlan_cell cell_;
    link_chain downlink_{to_base_, cell_.downlink()}, uplink_{cell_.uplink(), from_base_};
};

}  // namespace wip::emulator
