// SPDX-License-Identifier: GPL-3.0-or-later
// Topic `event` of the medium, from what it answers when it is asked for its status: late slots and
// transmissions, overflows, what a fader lost or clipped, radios that came and went, settings that
// were changed. The medium
// itself has no telemetry: nothing in it waits for a reader. An event is as late as the questions
// are apart (`air.every_ms`); a setting says the slot from which it holds.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "runtime/status_events.h"

namespace wip::observer {

class air_events {
public:
    explicit air_events(host::telemetry_port& port) : events_(port, "air") {}

    void compare(const openwip::control::AirStatus& status, slot now);
    // The medium has not answered a request for a while. This is reported once, until it answers
    // again.
    void no_answer(slot now);
    // Called while there is no subscriber: what happens meanwhile is not reported later.
    void forget();

private:
    void compare_nodes(const openwip::control::AirStatus& status, slot now);
    void compare_settings(const openwip::control::AirStatus& status);

    host::status_events events_;
    // processes at the nodes, as last reported
    std::optional<std::map<std::string, std::uint64_t>> processes_;
    std::optional<std::uint64_t> changes_made_;
    bool silent_ = false;
};

}  // namespace wip::observer
