// SPDX-License-Identifier: GPL-3.0-or-later
// The damaged path between two interfaces in real time: one thread that sleeps until the next
// packet leaves, one comes, or somebody asks.
#pragma once

#include <memory>
#include <zmq.hpp>

#include "tcpl/tcpl_config.h"

namespace wip::tcpl {

class tcpl_process {
public:
    // Makes the interfaces and binds the socket. Throws bad_input, bad_input,
    // also for a namespace that is not there.
    tcpl_process(zmq::context_t& context, const config::settings& settings,
                 const tcpl_config& config);
    ~tcpl_process();

    // Paths of the ipc sockets bound here, to hand over to the user that the process becomes.
    std::vector<std::string> bound_paths() const;
    // Until something ends it; returns the exit code.
    int run(int signal_fd, bool realtime_priority);

private:
    struct state;
    std::unique_ptr<state> state_;
};

}  // namespace wip::tcpl
