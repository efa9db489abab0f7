// SPDX-License-Identifier: GPL-3.0-or-later
// The control endpoint of a medium or a fader: ZeroMQ REP with Request and Reply of
// mac/schema/control.proto, in a thread of its own. What is refused is a line in the log as well.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "medium/channel_control.h"
#include "runtime/stop_reason.h"
#include "schema/control.pb.h"

namespace wip::air {

// The controlled object. All functions may be called from any thread.
struct controlled {
    std::string endpoint;
    mix::mix_config mix;
    std::string head;  // YAML of the other settings, shown above the channel
    std::function<void(openwip::control::AirStatus&)> fill;
    std::function<void()> reset_counters;
    channel_control::change_fn change;
    // Control endpoint of what has the channel, when this is the cables (a fader, or a
    // transmitter): its settings are the ones that change, and what it counts is added. Empty:
    // none.
    std::string fader{};
};

class control_server {
public:
    // Throws bad_input if the endpoint cannot be bound.
    control_server(controlled air, std::function<void(const std::string&)> log,
                   std::function<void(const host::stop_reason&)> on_stop);
    ~control_server();

private:
    struct state;
    std::unique_ptr<state> state_;
};

// Asks a process over its control endpoint. One thread.
class asked_process {
public:
    asked_process(const std::string& endpoint, std::chrono::milliseconds patience);
    ~asked_process();
    // Nothing: no answer in that time.
    std::optional<openwip::control::Reply> ask(const openwip::control::Request& request);

private:
    struct state;
    std::unique_ptr<state> state_;
};

}  // namespace wip::air
