// SPDX-License-Identifier: GPL-3.0-or-later
// The medium's control endpoint: ZeroMQ REP with Request and Reply of mac/schema/control.proto, in
// a thread of its own. What is not a request gets Reply{ok: false} and a line in the log.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <string>

#include "air/medium.h"
#include "medium/channel_control.h"
#include "schema/control.pb.h"

namespace wip::air {

class control_server {
public:
    // Throws std::runtime_error if the endpoint cannot be bound.
    control_server(const medium_config& config, medium& m,
                   std::function<void(const std::string&)> log,
                   std::function<void(const std::string&)> on_stop);
    ~control_server();

private:
    struct state;
    std::unique_ptr<state> state_;
};

// What was changed since the start, the last 200 of it.
struct changes_made {
    void add(std::int64_t slot, const channel_control::changed& c);
    static constexpr std::size_t most = 200;
    std::deque<openwip::control::SettingChange> last;
    std::uint64_t count = 0;
};

// The answer to one message; separate from the socket for the test of it.
std::string answer(const std::string& message, const medium_config& config, medium& m,
                   channel_control& channel, changes_made& made,
                   const std::function<void(const std::string&)>& log,
                   const std::function<void(const std::string&)>& on_stop);

}  // namespace wip::air
