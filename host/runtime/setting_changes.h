// SPDX-License-Identifier: GPL-3.0-or-later
// The changes of settings in a running process, by any client: the last 200 changes with the slot
// from which they hold, for the answers over control. So a report can say that a run was not left
// alone.
#pragma once

#include <cstdint>
#include <deque>
#include <string>

#include "schema/control.pb.h"

namespace wip::host {

class setting_changes {
public:
    void add(std::int64_t slot, std::string key, std::string from, std::string to) {
        if (last_.size() == most) last_.pop_front();
        auto& c = last_.emplace_back();
        c.set_slot(slot);
        c.set_key(std::move(key));
        c.set_from(std::move(from));
        c.set_to(std::move(to));
        ++made_;
    }
    // `Status`: MacStatus or AirStatus.
    template <class Status>
    void fill(Status& status) const {
        for (const auto& c : last_) *status.add_changes() = c;
        status.set_changes_made(made_);
    }

private:
    static constexpr std::size_t most = 200;  // changes that are kept
    std::deque<openwip::control::SettingChange> last_;
    std::uint64_t made_ = 0;
};

}  // namespace wip::host
