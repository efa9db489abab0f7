// SPDX-License-Identifier: GPL-3.0-or-later
// One process for a cell that looks at what the kernel knows: TCP connections in the cell's
// namespaces, processor time, and the medium's pacing; what is news in it is an event. It asks
// nobody anything while nobody listens, and whoever does not answer costs a topic, never the
// process.
#pragma once

#include <memory>
#include <zmq.hpp>

#include "observer/observer_config.h"

namespace wip::observer {

class observer_process {
public:
    // Opens the netlink sockets and binds. Throws bad_input (also for a
    // namespace that is not there).
    observer_process(zmq::context_t& context, const observer_config& config);
    ~observer_process();

    // Paths of the ipc sockets bound here, to hand over to the user that the process becomes.
    std::vector<std::string> bound_paths() const;
    // Until a signal ends it; returns the exit code.
    int run(int signal_fd);

private:
    struct state;
    std::unique_ptr<state> state_;
};

}  // namespace wip::observer
