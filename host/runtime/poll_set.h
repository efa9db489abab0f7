// SPDX-License-Identifier: GPL-3.0-or-later
// The one place in which a process sleeps: a ppoll(2) on everything that it waits for.
//
// A ZeroMQ socket has a descriptor that tells of news once: what is left in the socket after that
// tells of nothing. So a socket that had something is asked before each sleep whether it still has,
// until it says no.
#pragma once

#include <poll.h>

#include <chrono>
#include <cstddef>
#include <vector>
#include <zmq.hpp>

namespace wip::host {

class poll_set {
public:
    // The number of a descriptor or socket, in the order in which they were added.
    using place = std::size_t;

    place add(int fd);
    place add(zmq::socket_t& socket);
    // Adds a place for a socket that comes and goes.
    place add_socket();
    // Replaces the descriptor or socket in that place; -1 or nullptr: nothing is waited for there.
    void replace(place at, int fd) { fds_[at].fd = fd; }
    // A new socket may lie where the old one lay, so it is asked for its descriptor each time.
    void replace(place at, zmq::socket_t* socket);
    int fd(place at) const { return fds_[at].fd; }

    // Sleeps until there is something to read, but for no longer than `patience`; a negative one is
    // as long as it takes. False: the time was over.
    bool sleep(std::chrono::nanoseconds patience);
    // Whether the last sleep found something to read there.
    bool ready(place at) const { return ready_[at]; }

private:
    struct zmq_place {
        place at;
        zmq::socket_t* socket;
        bool open;  // the socket may hold messages that its descriptor no longer reports
    };
    // True: messages wait at the socket that its descriptor may no longer report.
    bool still_has(zmq_place& z) const;

    std::vector<pollfd> fds_;
    std::vector<char> ready_;
    std::vector<zmq_place> sockets_;
};

}  // namespace wip::host
