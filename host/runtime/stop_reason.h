// SPDX-License-Identifier: GPL-3.0-or-later
// Why a process ends: a cause of mac/schema/stop.proto, by which the exit code is decided, and
// words for the log. It comes from $OPENWIP_RUN/why (a signal), a request over control, or a peer's
// last message.
#pragma once

#include <string>

#include "config/exit_code.h"
#include "schema/control.pb.h"
#include "schema/stop.pb.h"

namespace wip::host {

using stop_cause = openwip::stop::Cause;

struct stop_reason {
    stop_cause cause = openwip::stop::CAUSE_UNSPECIFIED;
    std::string words;  // empty: there is no reason to end

    bool given() const { return !words.empty(); }
    // The same reason, after the name of the signal by which the process was stopped.
    stop_reason after(const std::string& signal) const { return {cause, signal + ": " + words}; }
};

int exit_code_of(stop_cause cause);

// The reason that the supervisor left in $OPENWIP_RUN/why; without it, the end was requested.
stop_reason reason_to_stop();
// The reason in a file's text: JSON, or the words on its first line.
stop_reason read_reason(const std::string& text);

// A request to stop.
stop_reason reason_of(const openwip::control::Request& request);

}  // namespace wip::host
