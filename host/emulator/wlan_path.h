// SPDX-License-Identifier: GPL-3.0-or-later
// The 802.11b cell (wlan/wlan_cell.h) as a link, the wired network on the far side of its access
// point with it.
#pragma once

#include "emulator/link_pair.h"
#include "packet/wired_link.h"
#include "port/link_chain.h"
#include "wlan/wlan_cell.h"

namespace wip::emulator {

class wlan_path final : public link_pair {
public:
    explicit wlan_path(const wlan_path_config& c)
        : config_(c),
          to_base_(c.to_base, 1),
          from_base_(c.from_base, 2),
          cell_(c.cell, errors_of(c)) {
        // As the chain does it, and the cell knows for how long.
        to_base_.deliver_to([this](const link_packet& p) {
            cell_.set_wired(p.due_ns - p.offered_ns);
            cell_.downlink().offer(p.data, p.due_ns, p.tag);
            return 0;
        });
    }

    packet_link& downlink() override { return downlink_; }
    packet_link& uplink() override { return uplink_; }
    void fill_base(openwip::control::MacStatus& status) const override;
    void fill_terminal(openwip::control::MacStatus& status) const override;
    void apply(const emulator_config& wanted, std::int64_t now_ns) override;
    void follow_packets(const packet_fn& take) override { cell_.follow(take); }

private:
    static wlan::wlan_cell::make_errors errors_of(const wlan_path_config& c);

    wlan_path_config config_;
    packet_model::wired_link to_base_, from_base_;
    wlan::wlan_cell cell_;
    link_chain downlink_{to_base_, cell_.downlink()}, uplink_{cell_.uplink(), from_base_};
};

}  // namespace wip::emulator
