// SPDX-License-Identifier: GPL-3.0-or-later
#include "split/proxy.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <string>

namespace wip::split {
namespace {

constexpr int events_at_once = 64;
constexpr int backlog = 16;
constexpr int keepalive_probes = 3;
// Which socket an event is of: the listeners' numbers are below, a connection has two.
constexpr std::uint64_t first_number = 1U << 16;

[[noreturn]] void fail(const std::string& what) {
    throw std::runtime_error("split: " + what + ": " + strerror(errno));
}

void set(int fd, int level, int option, int value, const char* name) {
    if (::setsockopt(fd, level, option, &value, sizeof value) != 0) fail(name);
}

sockaddr* as_any(sockaddr_in& a) { return reinterpret_cast<sockaddr*>(&a); }
const sockaddr* as_any(const sockaddr_in& a) { return reinterpret_cast<const sockaddr*>(&a); }

}  // namespace

proxy::proxy(const proxy_config& config) : config_(config), epoll_(::epoll_create1(EPOLL_CLOEXEC)) {
    if (!epoll_.valid()) fail("epoll");
    if (config.ports.empty() || config.connections < 1 || config.buffer_bytes < 1)
        throw std::invalid_argument("split: neither ports, connections nor buffer may be 0");
    if (config.connect_namespace >= 0) {
        home_ = descriptor(::open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC));
        if (!home_.valid()) fail("its own namespace");
    }
    listen();
}

void proxy::set_limits(int fd) const {
    const int bytes = static_cast<int>(std::min<std::size_t>(config_.buffer_bytes, 1U << 29));
    set(fd, SOL_SOCKET, SO_RCVBUF, bytes, "SO_RCVBUF");
    set(fd, SOL_SOCKET, SO_SNDBUF, bytes, "SO_SNDBUF");
    set(fd, IPPROTO_TCP, TCP_NODELAY, 1, "TCP_NODELAY");
    set(fd, SOL_SOCKET, SO_KEEPALIVE, 1, "SO_KEEPALIVE");
    set(fd, IPPROTO_TCP, TCP_KEEPIDLE, config_.keepalive_s, "TCP_KEEPIDLE");
    set(fd, IPPROTO_TCP, TCP_KEEPINTVL, std::max(1, config_.keepalive_s / keepalive_probes),
        "TCP_KEEPINTVL");
    set(fd, IPPROTO_TCP, TCP_KEEPCNT, keepalive_probes, "TCP_KEEPCNT");
    set(fd, SOL_SOCKET, SO_REUSEADDR, 1, "SO_REUSEADDR");
    if (config_.transparent) set(fd, IPPROTO_IP, IP_TRANSPARENT, 1, "IP_TRANSPARENT");
}

void proxy::listen() {
    for (const std::uint16_t port : config_.ports) {
        descriptor s(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
        if (!s.valid()) fail("socket");
        set_limits(s.get());  // what it accepts has the same
        sockaddr_in here{};
        here.sin_family = AF_INET;
        here.sin_port = htons(port);
        if (::bind(s.get(), as_any(here), sizeof here) != 0 || ::listen(s.get(), backlog) != 0)
            fail("port " + std::to_string(port));
        epoll_event e{};
        e.events = EPOLLIN;
        e.data.u64 = static_cast<std::uint64_t>(s.get());
        if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, s.get(), &e) != 0) fail("epoll");
        listeners_.push_back(std::move(s));
    }
}

bool proxy::at_limit() const {
    return pairs_.size() >= static_cast<std::size_t>(config_.connections);
}

// What the kernel has already accepted would be reset: it is taken over the limit, a backlog.
void proxy::stop_to_listen() {
    ++counts_.full;
    for (const auto& s : listeners_) take(s.get(), true);
    listeners_.clear();
}

void proxy::work() {
    std::array<epoll_event, events_at_once> events{};
    const int n = ::epoll_wait(epoll_.get(), events.data(), events_at_once, 0);
    for (int i = 0; i < n; ++i) {
        const std::uint64_t of = events[static_cast<std::size_t>(i)].data.u64;
        if (of < first_number) {
            take(static_cast<int>(of), false);
            continue;
        }
        const auto found = pairs_.find(of / 2);
        if (found == pairs_.end()) continue;  // over since
        found->second->connection.on_ready(static_cast<side>(of % 2),
                                           events[static_cast<std::size_t>(i)].events);
        follow(of / 2, *found->second);
    }
    if (!listeners_.empty() && at_limit()) stop_to_listen();
    if (listeners_.empty() && !at_limit()) listen();
}

void proxy::take(int listener, bool all) {
    const auto own = std::ranges::find(listeners_, listener, &descriptor::get);
    if (own == listeners_.end()) return;
    while (all || !at_limit()) {
        sockaddr_in from{}, to{};
        socklen_t size = sizeof from;
        descriptor opener(::accept4(listener, as_any(from), &size, SOCK_NONBLOCK | SOCK_CLOEXEC));
        if (!opener.valid()) return;
        size = sizeof to;
        if (::getsockname(opener.get(), as_any(to), &size) != 0) continue;
        const std::uint64_t number = first_number / 2 + ++last_;
        descriptor other = connect(from, to);
        ++counts_.split;
        if (!other.valid()) {
            ++counts_.not_reached;
            const linger reset{.l_onoff = 1, .l_linger = 0};
            ::setsockopt(opener.get(), SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
            continue;
        }
        auto& p = pairs_[number];
        p = std::make_unique<split_pair>(
            split_pair{{std::move(opener), std::move(other), config_.buffer_bytes}, {}});
        follow(number, *p);
    }
}

descriptor proxy::socket_there() const {
    const auto make = [] {
        return descriptor(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    };
    if (config_.connect_namespace < 0) return make();
    if (::setns(config_.connect_namespace, CLONE_NEWNET) != 0) return {};
    descriptor s = make();
    if (::setns(home_.get(), CLONE_NEWNET) != 0) fail("back from a namespace");
    return s;
}

// In the name of who opened it; not valid: it cannot be reached.
descriptor proxy::connect(const sockaddr_in& from, const sockaddr_in& to) const {
    descriptor s = socket_there();
    if (!s.valid()) return s;
    set_limits(s.get());
    if (::bind(s.get(), as_any(from), sizeof from) != 0 ||
        (::connect(s.get(), as_any(to), sizeof to) != 0 && errno != EINPROGRESS))
        s.close();
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
        const int what = !wanted ? EPOLL_CTL_DEL : w.there ? EPOLL_CTL_MOD : EPOLL_CTL_ADD;
        if (::epoll_ctl(epoll_.get(), what, p.connection.fd(s), &e) != 0) fail("epoll");
        w = {events, wanted};
    }
}

void proxy::close(std::uint64_t number) {
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
