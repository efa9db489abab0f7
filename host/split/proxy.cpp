// SPDX-License-Identifier: GPL-3.0-or-later
#include "split/proxy.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <new>
#include <stdexcept>
#include <string>
#include <utility>

#include "types/failure.h"

namespace wip::split {
namespace {

constexpr int events_at_once = 64;
constexpr int backlog = 16;               // connections that wait to be accepted
constexpr int keepalive_probes = 3;       // without an answer: the connection is dead
constexpr std::chrono::seconds pause{1};  // time until it tries to listen again
// Numbers in epoll events: listeners have lower ones, each connection has two from here on.
constexpr std::uint64_t first_number = 1U << 16;

[[noreturn]] void fail(const std::string& operation) {
    throw machine_error("split: " + operation, errno);
}

bool set(int fd, int level, int option, int value) {
    return ::setsockopt(fd, level, option, &value, sizeof value) == 0;
}

// The size that a buffer got. The kernel reports twice that, for its own needs, and silently limits
// a larger value to its maximum.
std::size_t granted(int fd, int option) {
    int value = 0;
    socklen_t size = sizeof value;
    return ::getsockopt(fd, SOL_SOCKET, option, &value, &size) == 0
               ? static_cast<std::size_t>(value) / 2
               : 0;
}

// Another connection would not fare better until one has ended.
bool is_short(int error) {
    return error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM;
}

void set_linger(int fd) {
    const linger reset{.l_onoff = 1, .l_linger = 0};
    ::setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
}

// Two descriptors for each connection, and for connections over the limit; few others.
void allow_descriptors(const proxy_config& c) {
    const std::size_t others = 2 * c.ports.size() * (backlog + 1) + c.ports.size() + 32;
    const rlim_t needed = 2 * static_cast<std::size_t>(c.connections) + others;
    rlimit now{};
    if (::getrlimit(RLIMIT_NOFILE, &now) != 0)
        fail("cannot read the limit of descriptors (RLIMIT_NOFILE)");
    if (now.rlim_cur >= needed) return;
    const rlimit more{.rlim_cur = needed, .rlim_max = std::max(needed, now.rlim_max)};
    if (::setrlimit(RLIMIT_NOFILE, &more) == 0) return;
    const std::string valid =
        now.rlim_max > others + 1 ? "1.." + std::to_string((now.rlim_max - others) / 2) : "none";
    throw bad_input("split_tcp.connections is " + std::to_string(c.connections) + ", which needs " +
                    std::to_string(needed) + " descriptors, and the kernel grants " +
                    std::to_string(now.rlim_max) + " (ulimit -Hn); valid there: " + valid);
}

sockaddr* as_any(sockaddr_in& a) { return reinterpret_cast<sockaddr*>(&a); }
const sockaddr* as_any(const sockaddr_in& a) { return reinterpret_cast<const sockaddr*>(&a); }

// Only a process with CAP_NET_ADMIN may exceed net.core.rmem_max and wmem_max. The proxy has it in
// the kernel of virtual time; transparent sockets are made after it has been given up.
bool set_buffers(int fd, const proxy_config& c) {
    const int bytes = static_cast<int>(std::min<std::size_t>(c.buffer_bytes, 1U << 29));
    if (!c.transparent && set(fd, SOL_SOCKET, SO_RCVBUFFORCE, bytes) &&
        set(fd, SOL_SOCKET, SO_SNDBUFFORCE, bytes))
        return true;
    return set(fd, SOL_SOCKET, SO_RCVBUF, bytes) && set(fd, SOL_SOCKET, SO_SNDBUF, bytes);
}

}  // namespace

void ask_kernel(const proxy_config& c) {
    allow_descriptors(c);
    const descriptor s(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (!s.valid() || !set_buffers(s.get(), c)) fail("cannot make a socket with these buffers");
    const std::size_t asked = c.buffer_bytes >> 10;
    for (const auto& [option, name] : {std::pair(SO_RCVBUF, "rmem"), {SO_SNDBUF, "wmem"}})
        if (const auto kb = granted(s.get(), option) >> 10; kb < asked)
            throw bad_input("split_tcp.buffer_kb is " + std::to_string(asked) +
                            ": the kernel grants " + std::to_string(kb) + " (net.core." + name +
                            "_max); valid there: 4.." + std::to_string(kb));
}

proxy::proxy(const proxy_config& config) : config_(config), epoll_(::epoll_create1(EPOLL_CLOEXEC)) {
    if (!epoll_.valid()) fail("cannot watch sockets (epoll)");
    if (config.ports.empty() || config.connections < 1 || config.buffer_bytes < 1)
        throw std::invalid_argument(
            "split_tcp: there are no ports, connections or buffers; valid: one or more of each");
    ask_kernel(config);
    if (config.connect_namespace >= 0) {
        home_ = descriptor(::open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC));
        if (!home_.valid()) fail("cannot open its own namespace");
    }
    listen();
}

bool proxy::set_limits(int fd) const {
    return set_buffers(fd, config_) && set(fd, IPPROTO_TCP, TCP_NODELAY, 1) &&
           set(fd, SOL_SOCKET, SO_KEEPALIVE, 1) &&
           set(fd, IPPROTO_TCP, TCP_KEEPIDLE, config_.keepalive_s) &&
           set(fd, IPPROTO_TCP, TCP_KEEPINTVL,
               std::max(1, config_.keepalive_s / keepalive_probes)) &&
           set(fd, IPPROTO_TCP, TCP_KEEPCNT, keepalive_probes) &&
           set(fd, SOL_SOCKET, SO_REUSEADDR, 1) &&
           (!config_.transparent || set(fd, IPPROTO_IP, IP_TRANSPARENT, 1));
}

void proxy::listen() {
    for (const std::uint16_t port : config_.ports) {
        descriptor s(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
        if (!s.valid()) fail("cannot make a socket");
        // The accepted sockets inherit these limits.
        if (!set_limits(s.get())) fail("cannot set the options of a listening socket");
        sockaddr_in here{};
        here.sin_family = AF_INET;
        here.sin_port = htons(port);
        if (::bind(s.get(), as_any(here), sizeof here) != 0 || ::listen(s.get(), backlog) != 0)
            fail("cannot listen at port " + std::to_string(port));
        epoll_event e{};
        e.events = EPOLLIN;
        e.data.u64 = static_cast<std::uint64_t>(s.get());
        if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, s.get(), &e) != 0)
            fail("cannot watch port " + std::to_string(port) + " (epoll)");
        listeners_.push_back(std::move(s));
    }
}

bool proxy::at_limit() const {
    return pairs_.size() >= static_cast<std::size_t>(config_.connections);
}

bool proxy::has_room_again() const {
    return pairs_.size() * 8 < static_cast<std::size_t>(config_.connections) * 7;
}

// Connections that the kernel has already accepted would be reset: they are taken over the limit, a
// backlog.
void proxy::stop_to_listen() {
    ++counts_.full;
    if (!short_)
        for (const auto& s : listeners_) take(s.get(), backlog + 1);
    listeners_.clear();
    short_ = has_closed_ = false;
    stopped_ = std::chrono::steady_clock::now();
}

// Opens the listening sockets again. If that fails, it is tried again when the next connection
// ends, or after a pause if there is none.
void proxy::listen_again() {
    const bool waits = pairs_.empty() && std::chrono::steady_clock::now() - stopped_ >= pause;
    if (!has_closed_ && !waits) return;
    try {
        listen();
    } catch (const std::exception&) {
        stop_to_listen();
    }
}

std::chrono::milliseconds proxy::patience() const {
    return listeners_.empty() && pairs_.empty() ? pause : std::chrono::milliseconds(-1);
}

void proxy::work() {
    std::array<epoll_event, events_at_once> events{};
    const int n = ::epoll_wait(epoll_.get(), events.data(), events_at_once, 0);
    for (int i = 0; i < n; ++i) {
        const std::uint64_t of = events[static_cast<std::size_t>(i)].data.u64;
        if (of < first_number) {
            take(static_cast<int>(of), config_.connections - static_cast<int>(pairs_.size()));
            continue;
        }
        const auto found = pairs_.find(of / 2);
        if (found == pairs_.end()) continue;  // the connection has ended since
        found->second->connection.on_ready(static_cast<side>(of % 2),
                                           events[static_cast<std::size_t>(i)].events);
        follow(of / 2, *found->second);
    }
    if (!listeners_.empty() && (at_limit() || short_)) stop_to_listen();
    if (listeners_.empty() && has_room_again()) listen_again();
}

void proxy::take(int listener, int most) {
    const auto own = std::ranges::find(listeners_, listener, &descriptor::get);
    if (own == listeners_.end()) return;
    while (most-- > 0 && !short_) {
        sockaddr_in from{};
        socklen_t size = sizeof from;
        descriptor opener(::accept4(listener, as_any(from), &size, SOCK_NONBLOCK | SOCK_CLOEXEC));
        if (!opener.valid()) {
            short_ = is_short(errno);
            return;
        }
        begin(std::move(opener), from);
    }
}

// Connects to the other end for a new connection. If anything fails, the opener is reset.
void proxy::begin(descriptor opener, const sockaddr_in& from) {
    set_linger(opener.get());
    sockaddr_in to{};
    socklen_t size = sizeof to;
    if (::getsockname(opener.get(), as_any(to), &size) != 0) return;
    ++counts_.split;
    try {
        descriptor other = connect(from, to);
        if (other.valid()) {
            auto made = std::make_unique<split_pair>(split_pair{
                split_connection(std::move(opener), std::move(other), config_.buffer_bytes), {}});
            const std::uint64_t number = first_number / 2 + ++last_;
            follow(number, *pairs_.emplace(number, std::move(made)).first->second);
            return;
        }
        short_ = short_ || is_short(errno);
    } catch (const std::bad_alloc&) {
        short_ = true;
    }
    ++counts_.not_reached;
}

descriptor proxy::socket_there() const {
    const auto make = [] {
        return descriptor(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    };
    if (config_.connect_namespace < 0) return make();
    if (::setns(config_.connect_namespace, CLONE_NEWNET) != 0) return {};
    descriptor s = make();
    if (::setns(home_.get(), CLONE_NEWNET) != 0) fail("cannot go back to its own namespace");
    return s;
}

// Connects to `to` from the address of the opener. The descriptor is not valid if that cannot be
// reached (errno).
descriptor proxy::connect(const sockaddr_in& from, const sockaddr_in& to) const {
    descriptor s = socket_there();
    if (!s.valid()) return s;
    if (!set_limits(s.get()) || ::bind(s.get(), as_any(from), sizeof from) != 0 ||
        (::connect(s.get(), as_any(to), sizeof to) != 0 && errno != EINPROGRESS))
        return {};
    return s;
}

// A socket that has nothing to wait for is not watched: epoll tells of its end in any case, and
// again and again.
void proxy::follow(std::uint64_t number, split_pair& p) {
    if (p.connection.over()) return close(number);
    for (const side s : {side::opener, side::other}) {
        auto& w = p.watch[static_cast<std::size_t>(s)];
        const std::uint32_t events = p.connection.waits_for(s);
        const bool wanted = events != 0 || !p.connection.hung_up(s);
        if (w.there == wanted && (!wanted || w.events == events)) continue;
        epoll_event e{};
        e.events = events;
        e.data.u64 = number * 2 + static_cast<std::uint64_t>(s);
        const int operation = !wanted ? EPOLL_CTL_DEL : w.there ? EPOLL_CTL_MOD : EPOLL_CTL_ADD;
        if (::epoll_ctl(epoll_.get(), operation, p.connection.fd(s), &e) != 0) {
            p.connection.abandon();
            return close(number);
        }
        w = {events, wanted};
    }
}

void proxy::close(std::uint64_t number) {
    has_closed_ = true;
    const auto found = pairs_.find(number);
    const auto& c = found->second->connection;
    using state = split_connection::state;
    ++(c.now() == state::ended   ? counts_.ended
       : c.now() == state::reset ? counts_.reset
                                 : counts_.not_reached);
    for (const side s : {side::opener, side::other})
        counts_.ways[static_cast<std::size_t>(s)].add(c.counts(s));
    pairs_.erase(found);
}

proxy_counts proxy::counts() const {
    proxy_counts all = counts_;
    all.open = pairs_.size();
    for (const auto& [number, p] : pairs_)
        for (const side s : {side::opener, side::other})
            all.ways[static_cast<std::size_t>(s)].add(p->connection.counts(s));
    return all;
}

}  // namespace wip::split
