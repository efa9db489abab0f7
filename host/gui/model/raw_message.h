// SPDX-License-Identifier: GPL-3.0-or-later
// A telemetry message as it came off the wire. Everything that is shown is made of these, live or
// from a session file, so a replay goes through the very code that the run went through.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace wip::gui {

struct raw_message {
    std::int64_t received_ns = 0;  // steady clock of the reader
    std::string source;            // "base", "terminal", "observer", ...
    std::string topic;             // frame 0
    std::string body;              // frame 1
    bool two_frames = true;        // false: not a topic and a message
};

using message_sink = std::function<void(const raw_message&)>;

}  // namespace wip::gui
