// SPDX-License-Identifier: GPL-3.0-or-later
#include "extension/link_rules.h"

namespace wip::extension {
namespace {

constexpr const char *of_scheduler = "link.scheduler", *of_adaptation = "link.adaptation";

}  // namespace

void check_files(const link_rules_config& config) {
    if (config.scheduler != no_extension) check_file(of_scheduler, config.scheduler);
    if (config.adaptation != no_extension) check_file(of_adaptation, config.adaptation);
}

link_rules::link_rules(const link_rules_config& config, const openwip_cell& cell) {
    if (config.scheduler != no_extension)
        scheduler_ = std::make_unique<own_scheduler>(of_scheduler, config.scheduler, cell);
    if (config.adaptation != no_extension)
        adaptation_ = std::make_unique<own_adaptation>(of_adaptation, config.adaptation, cell);
}

std::vector<rule_cost> link_rules::costs() const {
    std::vector<rule_cost> all;
    if (scheduler_) all.push_back(scheduler_->cost());
    if (adaptation_) all.push_back(adaptation_->cost());
    return all;
}

}  // namespace wip::extension
