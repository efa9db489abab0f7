// SPDX-License-Identifier: GPL-3.0-or-later
// Shares out the bins of a slot as a scheduler of the user's own decides (port/own_rules.h): it
// passes on what the scheduler may know about each user, and returns the bins that each user gets.
#pragma once

#include <cstdint>
#include <vector>

#include "link/link_config.h"
#include "link/scheduling_view.h"
#include "port/own_rules.h"
#include "types/grid.h"

namespace wip {

// The description of the cell that a rule of the user's own gets when it is made.
openwip_cell cell_of(const link_config& link, int users, int averaging_slots);

class own_sharing {
public:
    // Both stay with the caller for as long as this is used.
    own_sharing(scheduler_port& scheduler, const openwip_cell& cell);

    // Gives the scheduler the view of a user in this slot, with the payload bits that the user has
    // acknowledged so far. Call it for every user before share().
    void show(int user, const scheduling_view& view, std::uint64_t acknowledged_bits,
              const link_config& link);
    // Shares out the bins of slot `air`. given() then returns the bins of a user (bit b: bin b)
    // until the next call.
    void share(slot air, int bins);
    std::uint32_t given(int user) const { return given_[static_cast<std::size_t>(user)]; }

private:
    scheduler_port* scheduler_;
    openwip_cell cell_;
    openwip_slot slot_{};
    std::vector<openwip_user> users_;
    std::vector<std::uint64_t> acknowledged_;
    std::vector<std::uint32_t> given_;
};

}  // namespace wip
