// SPDX-License-Identifier: GPL-3.0-or-later
// Paths from interface to interface: the OFDM cell, or another link, with delay injection.
#pragma once

#include <memory>
#include <optional>

#include "cell/emulated_cell.h"
#include "emulator/delayed_pair.h"
#include "emulator/link_pair.h"
#include "extension/link_rules.h"

namespace wip::emulator {

class cell_path final : public packet_path {
public:
    explicit cell_path(const emulator_config& c)
        : cell(c.cell, make_sources(c)), links(c, cell.downlink(), cell.uplink()) {
        black_out(slot(), c.channel.blackout_ms);
    }
    void black_out(slot from, double ms);
    packet_link& downlink() override { return links.downlink(); }
    packet_link& uplink() override { return links.uplink(); }
    void load_rules(const emulator_config& config) override;
    void fill_base(openwip::control::MacStatus& status) const override;
    void fill_terminal(openwip::control::MacStatus& status) const override;

    std::optional<extension::link_rules> rules;  // before the cell that uses them
    emulated_cell cell;
    delayed_pair links;
};

class pair_path final : public packet_path {
public:
    explicit pair_path(const emulator_config& c)
        : carrier(make_links(c)), links(c, carrier->downlink(), carrier->uplink()) {}
    packet_link& downlink() override { return links.downlink(); }
    packet_link& uplink() override { return links.uplink(); }
    void fill_base(openwip::control::MacStatus& status) const override;
    void fill_terminal(openwip::control::MacStatus& status) const override;

    std::unique_ptr<link_pair> carrier;
    delayed_pair links;
};

}  // namespace wip::emulator
