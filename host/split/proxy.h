// SPDX-License-Identifier: GPL-3.0-or-later
// Split TCP: takes connections that are on their way through this machine, opens one of its own to
// where each was going, in the name of who opened it, and carries bytes between the two. Neither
// end can tell from addresses and ports.
//
// How a connection comes here is not its business. As `transparent` (IP_TRANSPARENT, which needs
// CAP_NET_RAW for as long as it runs: each connection makes a socket) it is for packets that a rule
// of the kernel hands over (TPROXY); else the addresses have to be this machine's own: those of the
// one end where it listens, those of the other where it connects, in a second network namespace.
//
// At its limit of connections, or where the kernel has nothing left for another one, it stops to
// listen, and what the rule finds nobody for passes it by. What the kernel has already accepted is
// taken over the limit, a backlog at most; handshakes under way at that moment are reset. It
// listens again below 7/8 of the limit, so that this does not happen with every connection that
// ends, or when one has ended since.
//
// A failure stays with its connection: one that cannot be made resets its opener (not_reached), one
// that cannot be watched any more is reset.
#pragma once

#include <netinet/in.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "split/split_connection.h"
#include "types/descriptor.h"
#include "types/setting_limits.h"

namespace wip::split {

struct proxy_config {
    std::vector<std::uint16_t> ports;  // ports at which it listens
    bool transparent = true;
    // descriptor of the namespace in which it connects; -1: the one in which it listens
    int connect_namespace = -1;
    std::size_t buffer_bytes = std::size_t{setting::split_tcp_buffer_kb.initial} << 10;
    int connections = setting::split_tcp_connections.initial;
    int keepalive_s = setting::split_tcp_keepalive_s.initial;
};

struct proxy_counts {
    std::uint64_t split = 0, ended = 0, reset = 0, not_reached = 0;  // connections
    std::uint64_t open = 0;          // connections that are open now
    std::uint64_t full = 0;          // times that it stopped listening, or could not listen again
    std::array<way_counts, 2> ways;  // bytes from the openers of the connections, and back to them
};

// Raises the process's limit of descriptors to what the connections need. Throws bad_input
// where the kernel refuses that, or would silently make the sockets' buffers smaller.
void ask_kernel(const proxy_config& config);

class proxy {
public:
    // Asks the kernel, opens its sockets. Throws bad_input, machine_error.
    explicit proxy(const proxy_config& config);

    int fd() const { return epoll_.get(); }  // readable: work() has something to do
    void work();                             // does everything that is due, without waiting
    // Time after which to call work() although fd() is not readable, because the proxy could not
    // listen and has no connection whose end would give room. Negative: never.
    std::chrono::milliseconds patience() const;
    proxy_counts counts() const;

private:
    struct watched {
        std::uint32_t events = 0;
        bool there = false;
    };
    struct split_pair {
        split_connection connection;
        std::array<watched, 2> watch{};
    };
    void listen();
    void listen_again();
    void stop_to_listen();
    // True: as many connections as config_.connections are open.
    bool at_limit() const;
    // True: less than 7/8 of them are, so that it may listen again.
    bool has_room_again() const;
    void take(int listener, int most);
    void begin(descriptor opener, const sockaddr_in& from);
    descriptor connect(const sockaddr_in& from, const sockaddr_in& to) const;
    descriptor socket_there() const;
    void follow(std::uint64_t number, split_pair& p);
    void close(std::uint64_t number);
    // Sets buffers, keep-alive and options of a socket; false: one was refused (errno).
    bool set_limits(int fd) const;

    proxy_config config_;
    descriptor epoll_, home_;
    std::vector<descriptor> listeners_;
    std::map<std::uint64_t, std::unique_ptr<split_pair>> pairs_;
    std::uint64_t last_ = 0;
    bool short_ = false;       // the kernel has no more descriptors or memory
    bool has_closed_ = false;  // a connection has closed since it stopped listening
    std::chrono::steady_clock::time_point stopped_;
    proxy_counts counts_;
};

}  // namespace wip::split
