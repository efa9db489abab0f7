// SPDX-License-Identifier: GPL-3.0-or-later
// Questions over the control sockets of a cell, without ever waiting for an answer: each question
// has a socket of its own, which poll() looks at once per frame, and an end after which it counts
// as unanswered.
#pragma once

#include <functional>
#include <list>
#include <map>
#include <string>
#include <zmq.hpp>

#include "gui/cell/telemetry_client.h"
#include "schema/control.pb.h"

namespace wip::gui {

class control_client {
public:
    // The reply, or nullptr and what went wrong.
    using answer = std::function<void(const openwip::control::Reply*, const std::string& trouble)>;

    control_client();
    ~control_client();
    void ask(const std::string& endpoint, const curve_keys& keys,
             const openwip::control::Request& request, answer then, double patience_s = 2);
    void poll();
    // Gives up open requests: their answers lead to no call.
    void forget();

private:
    struct question {
        zmq::socket_t socket;
        answer then;
        std::int64_t deadline_ns;
        std::string endpoint;
    };
    zmq::context_t context_;
    std::list<question> questions_;
};

}  // namespace wip::gui
