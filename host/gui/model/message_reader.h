// SPDX-License-Identifier: GPL-3.0-or-later
// From bytes to messages, and an account of the ones that were not: lost on the way (a gap in the
// sequence of a topic), not parseable, or of a version that this program does not know. Nothing
// that comes off a socket can do more than raise one of these counts.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "gui/model/raw_message.h"
#include "schema/telemetry.pb.h"

namespace wip::gui {

struct reading_counts {
    std::uint64_t received = 0;  // valid messages
    std::uint64_t lost = 0;      // sequence numbers that never came
    std::uint64_t garbage = 0;   // does not parse, or holds what no publisher could have sent
    std::uint64_t future = 0;    // version above the one that is known here
    std::uint64_t restarts = 0;  // the publisher began to count again
    bool operator==(const reading_counts&) const = default;
};

class message_reader {
public:
    // The message, or nullptr when it was one of the bad ones. Valid until the next call.
    const openwip::telemetry::Telemetry* read(const raw_message& raw);
    // The content of the last message turned out to be invalid: what was counted as good is
    // garbage.
    void was_garbage();
    void clear();

    const reading_counts& total() const { return total_; }
    // Counts by source and topic; a topic that the proto file does not list is "other".
    const std::map<std::pair<std::string, std::string>, reading_counts>& by_topic() const {
        return by_topic_;
    }

private:
    struct place {
        reading_counts* counts = nullptr;
        std::uint64_t* last = nullptr;
    };
    place place_of(const raw_message& raw);

    openwip::telemetry::Telemetry message_;
    reading_counts total_;
    reading_counts* latest_ = nullptr;
    std::map<std::pair<std::string, std::string>, reading_counts> by_topic_;
    std::map<std::pair<std::string, std::string>, std::uint64_t> last_;
};

}  // namespace wip::gui
