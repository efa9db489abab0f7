// SPDX-License-Identifier: GPL-3.0-or-later
// The publisher of a station's telemetry: for each topic, whether it has a subscriber, a message to
// fill, and the call that sends it. Call wanted() first: a message without a subscriber is not
// made, so it costs one comparison.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "schema/telemetry.pb.h"
#include "types/quantity.h"

namespace wip::host {

enum class topic : std::uint8_t {
    status,
    slot,
    receiver,
    packet,
    frames,
    ip,
    event,
    air,
    tcp,
    cpu
};

// The names of the topics, in frame 0 of a message (mac/schema/telemetry.proto).
inline constexpr std::array<std::string_view, 10> topic_names{
    "status", "slot", "receiver", "packet", "frames", "ip", "event", "air", "tcp", "cpu"};
inline constexpr std::size_t nof_topics = topic_names.size();

class telemetry_port {
public:
    virtual ~telemetry_port() = default;
    virtual bool wanted(topic t) const = 0;
    // The topic is published every nth slot; 0: never, or it has no subscriber.
    virtual int every(topic t) const = 0;
    bool due(topic t, slot now) const {
        const int n = every(t);
        return n > 0 && now.value % n == 0;
    }
    // Reused from message to message: of what it holds from before, clear what is not set again.
    virtual openwip::telemetry::Telemetry& message(topic t) = 0;
    // Sends message(t). Never waits.
    virtual void publish(topic t, slot now, int user = 0) = 0;
};

}  // namespace wip::host
