// SPDX-License-Identifier: GPL-3.0-or-later
// The rules of the user's own that a downlink uses: link.scheduler and link.adaptation.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "extension/own_rules.h"

namespace wip::extension {

// The values of the settings; `built_in`: no code of the user's own.
struct link_rules_config {
    std::string scheduler{no_extension}, adaptation{no_extension};
};

// Checks before anything is loaded that the files may be. Throws bad_input.
void check_files(const link_rules_config& config);

class link_rules {
public:
    // Loads them and makes their objects: with the rights that the process has now. Throws
    // bad_input.
    link_rules(const link_rules_config& config, const openwip_cell& cell);

    // nullptr: the built-in one.
    scheduler_port* scheduler() const { return scheduler_.get(); }
    adaptation_port* adaptation() const { return adaptation_.get(); }
    std::vector<rule_cost> costs() const;

private:
    std::unique_ptr<own_scheduler> scheduler_;
    std::unique_ptr<own_adaptation> adaptation_;
};

}  // namespace wip::extension
