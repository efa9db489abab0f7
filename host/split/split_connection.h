// SPDX-License-Identifier: GPL-3.0-or-later
// A TCP connection that has been split: two sockets, and what is on its way between them. It takes
// readiness and says what it waits for; who watches the sockets is proxy.h.
//
//   end of one side   passed on (FIN) once all that came before it has been written; the other
//                     direction goes on for as long as it likes
//   reset, time-out   of one side resets the other at once: what was held is lost, and what a
//                     receiver has not acknowledged, as it would be on an unbroken path
//   not reachable     the side that opened the connection is reset
#pragma once

#include <array>
#include <cstdint>

#include "split/byte_ring.h"
#include "types/descriptor.h"

namespace wip::split {

enum class side : std::uint8_t { opener, other };
constexpr side across(side s) { return s == side::opener ? side::other : side::opener; }

struct way_counts {
    // Bytes; in = out + lost + held. `out`: bytes that a socket took; for a connection that was
    // given up, only those that the receiver's kernel had acknowledged by then.
    std::uint64_t in = 0, out = 0, lost = 0, held = 0;
    std::uint64_t most_held = 0;  // largest number of bytes that one connection held

    void add(const way_counts& c) {
        in += c.in, out += c.out, lost += c.lost, held += c.held;
        most_held = std::max(most_held, c.most_held);
    }
};

class split_connection {
public:
    // `opener` is connected, `other` is about to be. `bound`: bytes held each way.
    split_connection(descriptor opener, descriptor other, std::size_t bound);

    int fd(side s) const { return socket(s).get(); }
    // The events to watch for at the socket (EPOLLIN, EPOLLOUT); 0: none, until the other side has
    // moved.
    std::uint32_t waits_for(side s) const;
    // Whether the socket has been closed both ways; epoll reports that again and again, whatever is
    // waited for.
    bool hung_up(side s) const { return hung_up_[static_cast<std::size_t>(s)]; }
    // Something happened to a socket (epoll's events).
    void on_ready(side s, std::uint32_t events);

    enum class state : std::uint8_t { connecting, open, ended, reset, not_reached };
    state now() const { return state_; }
    bool over() const { return state_ >= state::ended; }

    // Resets both ends, because the proxy cannot go on.
    void abandon() { give_up(state_ == state::connecting ? state::not_reached : state::reset); }

    // Counts of what this side has sent.
    way_counts counts(side sender) const;

private:
    struct direction {
        explicit direction(std::size_t bound) : ring(bound) {}
        byte_ring ring;
        std::uint64_t in = 0, out = 0, lost = 0;
        bool ended = false;   // its sender has sent its FIN
        bool passed = false;  // FIN has been passed on
    };
    const descriptor& socket(side s) const { return s == side::opener ? opener_ : other_; }
    direction& from(side s) { return s == side::opener ? forth_ : back_; }
    const direction& from(side s) const { return s == side::opener ? forth_ : back_; }
    bool read(side s);   // false: the socket is broken
    bool write(side s);  // writes what came from the other side
    void give_up(state why);
    void count_lost(side sender);
    void close_as_reset(bool on) const;

    descriptor opener_, other_;
    direction forth_, back_;
    std::array<bool, 2> hung_up_{};
    state state_ = state::connecting;
};

}  // namespace wip::split
