// SPDX-License-Identifier: GPL-3.0-or-later
#include "observer/tcp_diag.h"

#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <span>
#include <utility>

#include "tun/network_namespace.h"
#include "types/failure.h"

namespace wip::observer {
namespace {

// States from the kernel's list, which <netinet/tcp.h> has and which cannot be included beside
// <linux/tcp.h>: 1 established .. 11 closing; not time wait (6), close (7) and listen (10).
constexpr std::uint32_t states = 0xffe & ~(1U << 6 | 1U << 7 | 1U << 10);
// of an answer: tcp_info and congestion control
constexpr std::uint8_t extensions = 1 << (INET_DIAG_INFO - 1) | 1 << (INET_DIAG_CONG - 1);

// Asked for in one write: the usual buffer of a socket has room for the answers to some 160.
constexpr std::size_t at_once = 64;

struct question {
    nlmsghdr header;
    inet_diag_req_v2 body;
};
static_assert(sizeof(question) % NLMSG_ALIGNTO == 0);

question ask(std::uint8_t family, std::uint16_t flags, std::uint32_t sequence) {
    question q{};
    q.header.nlmsg_len = sizeof q;
    q.header.nlmsg_type = SOCK_DIAG_BY_FAMILY;
    q.header.nlmsg_flags = static_cast<std::uint16_t>(NLM_F_REQUEST | flags);
    q.header.nlmsg_seq = sequence;
    q.body.sdiag_family = family;
    q.body.sdiag_protocol = IPPROTO_TCP;
    q.body.idiag_ext = extensions;
    q.body.idiag_states = states;
    return q;
}

std::uint64_t bytes_moved(const tcp_connection& c) {
    return c.info.tcpi_bytes_acked + c.info.tcpi_bytes_received;
}

// True: the kernel's answer to a question about one connection says that it has ended. There is
// none with these addresses, or it is a later one (its cookie differs).
bool is_gone(int code) { return code == ENOENT || code == ESTALE; }

// False for what carries no tcp_info (time wait).
bool parse(const nlmsghdr* header, tcp_connection& c) {
    if (header->nlmsg_len < NLMSG_LENGTH(sizeof(inet_diag_msg))) return false;
    const auto* m = static_cast<const inet_diag_msg*>(NLMSG_DATA(header));
    c = {};
    c.family = m->idiag_family;
    c.state = m->idiag_state;
    c.id = m->id;
    bool has_info = false;
    auto left = static_cast<int>(header->nlmsg_len - NLMSG_LENGTH(sizeof *m));
    for (auto* a = reinterpret_cast<const rtattr*>(m + 1); RTA_OK(a, left); a = RTA_NEXT(a, left)) {
        const auto size = static_cast<std::size_t>(RTA_PAYLOAD(a));
        if (a->rta_type == INET_DIAG_INFO) {
            std::memcpy(&c.info, RTA_DATA(a), std::min(size, sizeof c.info));
            has_info = true;
        } else if (a->rta_type == INET_DIAG_CONG) {
            std::memcpy(c.congestion_control.data(), RTA_DATA(a),
                        std::min(size, c.congestion_control.size() - 1));
        }
    }
    return has_info;
}

}  // namespace

tcp_diag::tcp_diag(const std::string& network_namespace, const std::string& key, std::size_t limit)
    : limit_(limit) {
    in_network_namespace(network_namespace, key, [&] {
        fd_ = ::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
        sockaddr_nl kernel{};
        kernel.nl_family = AF_NETLINK;
        if (fd_ < 0 ||
            ::connect(fd_, reinterpret_cast<const sockaddr*>(&kernel), sizeof kernel) != 0)
            throw machine_error(key + ": no NETLINK_SOCK_DIAG socket", errno);
    });
    // The kernel answers within the call; the limit is there so that a surprise cannot hang us.
    const timeval patience{0, 200'000};
    ::setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    connections_.reserve(limit);
}

tcp_diag tcp_diag::adopt(int fd, std::size_t limit) { return {fd, limit}; }

tcp_diag::~tcp_diag() {
    if (fd_ >= 0) ::close(fd_);
}

tcp_diag::tcp_diag(tcp_diag&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)),
      limit_(other.limit_),
      sequence_(other.sequence_),
      omitted_(other.omitted_),
      connections_(std::move(other.connections_)),
      failure_(std::move(other.failure_)) {}

bool tcp_diag::fail(int code) {
    failure_ = strerror(code);
    return false;
}

bool tcp_diag::request(const void* data, std::size_t size) {
    const auto sent = ::send(fd_, data, size, 0);
    return sent == static_cast<ssize_t>(size) || fail(errno);
}

template <typename Take>
bool tcp_diag::receive(bool until_done, Take&& take) {
    for (;;) {
        const auto size =
            ::recv(fd_, answer_.data(), answer_.size(), until_done ? 0 : MSG_DONTWAIT);
        if (size < 0) {
            if (errno == EINTR) continue;
            if (!until_done && errno == EAGAIN) return true;
            return fail(errno);
        }
        auto left = static_cast<unsigned>(size);
        for (auto* h = reinterpret_cast<nlmsghdr*>(answer_.data()); NLMSG_OK(h, left);
             h = NLMSG_NEXT(h, left)) {
            // belongs to a listing that was abandoned
            if (until_done && h->nlmsg_seq != sequence_) continue;
            if (h->nlmsg_type == NLMSG_DONE) return true;
            if (h->nlmsg_type == NLMSG_ERROR) {
                const int code = -static_cast<const nlmsgerr*>(NLMSG_DATA(h))->error;
                if (until_done) return code == 0 || fail(code);
                if (code != 0 && !is_gone(code)) return fail(code);
                continue;
            }
            take(h);
        }
    }
}

bool tcp_diag::dump(std::uint8_t family) {
    const question q = ask(family, NLM_F_DUMP, ++sequence_);
    if (!request(&q, sizeof q)) return false;
    return receive(true, [&](const nlmsghdr* h) {
        tcp_connection c;
        if (h->nlmsg_seq == sequence_ && parse(h, c)) found_.push_back(c);
    });
}

bool tcp_diag::search() {
    found_.clear();
    if (!dump(AF_INET)) return false;
    // A kernel without IPv6 has no handler for this family; the connections over IPv4 were found
    // before.
    dump(AF_INET6);
    omitted_ = 0;
    if (found_.size() > limit_) {
        omitted_ = found_.size() - limit_;
        std::nth_element(found_.begin(), found_.begin() + static_cast<std::ptrdiff_t>(limit_),
                         found_.end(), [](const tcp_connection& a, const tcp_connection& b) {
                             return bytes_moved(a) > bytes_moved(b);
                         });
        found_.resize(limit_);
    }
    connections_.assign(found_.begin(), found_.end());
    return true;
}

bool tcp_diag::refresh() {
    found_.clear();
    bool good = true;
    for (std::size_t done = 0; good && done < connections_.size(); done += at_once) {
        // The kernel answers within the write, in order, one datagram each.
        const auto some = std::span(connections_)
                              .subspan(done)
                              .first(std::min(at_once, connections_.size() - done));
        requests_.clear();
        const std::uint32_t first = sequence_ + 1;
        for (const auto& c : some) {
            question q = ask(c.family, 0, ++sequence_);
            q.body.id = c.id;
            const auto* bytes = reinterpret_cast<const std::uint8_t*>(&q);
            requests_.insert(requests_.end(), bytes, bytes + sizeof q);
        }
        good =
            request(requests_.data(), requests_.size()) && receive(false, [&](const nlmsghdr* h) {
                tcp_connection c;
                if (h->nlmsg_seq - first < some.size() && parse(h, c)) found_.push_back(c);
            });
    }
    connections_.assign(found_.begin(), found_.end());
    return good;
}

}  // namespace wip::observer
