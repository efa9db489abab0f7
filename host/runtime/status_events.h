// SPDX-License-Identifier: GPL-3.0-or-later
// Topic `event`, from counters: ten times a second the status of a station is compared with the
// last one, and what grew is an event with how much it grew. So one cause is one message in a tenth
// of a second at most, whatever its rate. Counting begins with the first subscriber.
#pragma once

#include <map>
#include <string>

#include "runtime/telemetry_port.h"

namespace wip::host {

class status_events {
public:
    // `source`: "base", "terminal", "air", "observer".
    status_events(telemetry_port& port, std::string source)
        : port_(&port), source_(std::move(source)) {}

    bool wanted() const { return port_->wanted(topic::event); }
    void compare(const openwip::control::MacStatus& status, slot now);
    // Reports the increase of a counter that is not in the status; call compared() after all of
    // these.
    void grew(openwip::telemetry::Event::Severity severity, const char* kind,
              const std::string& reason, std::uint64_t total, slot now);
    void compared() { known_ = true; }
    // Reports an event now. `kind` and `reason` as in telemetry.proto.
    void say(openwip::telemetry::Event::Severity severity, const char* kind,
             const std::string& reason, slot now, std::uint64_t count = 1);
    // Called while there is no subscriber: what is counted meanwhile is not reported later.
    void forget() {
        last_.clear();
        known_ = false;
    }

private:
    void compare_drops(const openwip::control::Direction& d, const char* prefix, slot now);

    telemetry_port* port_;
    std::string source_;
    std::map<std::string, std::uint64_t> last_;  // last value by kind and reason
    bool known_ = false;
};

}  // namespace wip::host
