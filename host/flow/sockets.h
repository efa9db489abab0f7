// SPDX-License-Identifier: GPL-3.0-or-later
// Clock and sockets of the ends of flows. What fails ends the end (machine_error).
#pragma once

#include <netinet/in.h>
#include <sys/types.h>

#include <string>

#include "flow/plan.h"

namespace wip::flow {

double now();  // s, CLOCK_MONOTONIC
void sleep_until(double at);
// The same, but for a signal (wake_at()), which ends it.
void sleep_until_woken(double at);

struct sockaddr_in place(const plan& p, int side, int flow);

// The sockets of one end of a flow, with its buffers and its window.
class sockets {
public:
    sockets(const plan& p, const flow& f) : plan_(p), flow_(f) {}

    int listening(int type) const;
    // Listens for connections that send with the flow's congestion control.
    int listening_to_send() const;
    // accept_one() accepts a connection; take() takes the data that has arrived on it and throws it
    // away. Both keep its window at the plan's, if there is one.
    int accept_one(int listener) const;
    ssize_t take(int s) const;
    // Takes all that comes until a signal arrives, in one call; returns the number of bytes.
    ssize_t take_until_woken(int s) const;
    int to_connect() const;
    // Connects to the flow's other side; returns the result of connect().
    int connect_to(int s) const;
    int connected() const;
    // A packet of the application does not wait for another one (Nagle).
    void send_at_once(int s) const;
    // The socket's buffers, in bytes.
    void set_send_buffer(int s, int bytes) const;

private:
    const plan& plan_;
    const flow& flow_;

    int with_buffers(int s) const;
    int with_window(int s) const;
    int with_control(int s) const;
    ssize_t taken(int s, std::size_t most, int flags) const;
};

int window_of(int s);
// Limits the time that a read or a write may take.
void limit_time(int s, time_t seconds);
// From that time on no call waits: it ends with EINTR. The signal is repeated now and then, in case
// it comes between two calls.
void wake_at(double at);
// The same from SIGTERM on; asked_to_end() says whether it came.
void wake_when_asked_to_end();
// True: SIGTERM has come since wake_when_asked_to_end().
bool asked_to_end();

}  // namespace wip::flow
