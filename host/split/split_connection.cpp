// SPDX-License-Identifier: GPL-3.0-or-later
#include "split/split_connection.h"

#include <linux/sockios.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>

namespace wip::split {
namespace {

bool not_now(int error) { return error == EAGAIN || error == EWOULDBLOCK || error == EINTR; }

int error_of(int fd) {
    int error = 0;
    socklen_t size = sizeof error;
    return ::getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) == 0 ? error : errno;
}

}  // namespace

split_connection::split_connection(descriptor opener, descriptor other, std::size_t bound)
    : opener_(std::move(opener)), other_(std::move(other)), forth_(bound), back_(bound) {
    close_as_reset(true);
}

// Has a close of the sockets reset the connections (SO_LINGER of 0 s), also at the end of this
// process: a connection that was cut off must not look like one that has ended.
void split_connection::close_as_reset(bool on) const {
    const linger l{.l_onoff = on ? 1 : 0, .l_linger = 0};
    for (const auto* s : {&opener_, &other_})
        ::setsockopt(s->get(), SOL_SOCKET, SO_LINGER, &l, sizeof l);
}

std::uint32_t split_connection::waits_for(side s) const {
    if (over()) return 0;
    const direction &sent = from(s), &received = from(across(s));
    if (state_ == state::connecting && s == side::other) return EPOLLOUT;
    std::uint32_t events = 0;
    if (!sent.ended && sent.ring.room() > 0) events |= EPOLLIN;
    if (received.ring.size() > 0) events |= EPOLLOUT;
    return events;
}

void split_connection::on_ready(side s, std::uint32_t events) {
    if (over()) return;
    if ((events & EPOLLHUP) != 0) hung_up_[static_cast<std::size_t>(s)] = true;
    if (state_ == state::connecting && s == side::other) {
        if (error_of(fd(s)) != 0) return give_up(state::not_reached);
        if ((events & EPOLLOUT) == 0) return;
        state_ = state::open;
    }
    const bool broken = (events & EPOLLERR) != 0 && error_of(fd(s)) != 0;
    const bool moves = !broken && ((events & EPOLLIN) == 0 || read(s)) && write(s) &&
                       (state_ == state::connecting || write(across(s)));
    if (!moves) return give_up(state::reset);
    if (!forth_.passed || !back_.passed) return;
    state_ = state::ended;
    close_as_reset(false);
}

bool split_connection::read(side s) {
    direction& d = from(s);
    while (!d.ended && d.ring.room() > 0) {
        auto pieces = d.ring.to_fill();
        const auto n = ::readv(fd(s), pieces.data(), pieces[1].iov_len > 0 ? 2 : 1);
        if (n < 0) return not_now(errno);
        if (n == 0) {
            d.ended = true;
            break;
        }
        d.ring.filled(static_cast<std::size_t>(n));
        d.in += static_cast<std::uint64_t>(n);
        if (state_ == state::connecting) break;
    }
    return true;
}

bool split_connection::write(side s) {
    if (state_ == state::connecting && s == side::other) return true;
    direction& d = from(across(s));
    while (d.ring.size() > 0) {
        const auto pieces = d.ring.to_take();
        const msghdr message{.msg_name = nullptr,
                             .msg_namelen = 0,
                             .msg_iov = const_cast<iovec*>(pieces.data()),
                             .msg_iovlen = pieces[1].iov_len > 0 ? 2U : 1U,
                             .msg_control = nullptr,
                             .msg_controllen = 0,
                             .msg_flags = 0};
        const auto n = ::sendmsg(fd(s), &message, MSG_NOSIGNAL);
        if (n < 0) return not_now(errno);
        d.ring.taken(static_cast<std::size_t>(n));
        d.out += static_cast<std::uint64_t>(n);
    }
    if (d.ended && !d.passed) {
        d.passed = true;
        return ::shutdown(fd(s), SHUT_WR) == 0;
    }
    return true;
}

// Data that the receiver has not acknowledged is thrown away with the socket.
void split_connection::count_lost(side sender) {
    direction& d = from(sender);
    int queued = 0;
    if (::ioctl(fd(across(sender)), SIOCOUTQ, &queued) != 0 || queued < 0) queued = 0;
    if (d.passed && queued > 0) --queued;  // the FIN has a sequence number of its own
    const auto unacknowledged = std::min(static_cast<std::uint64_t>(queued), d.out);
    d.out -= unacknowledged;
    d.lost = unacknowledged + d.ring.size();
}

void split_connection::give_up(state why) {
    for (const side s : {side::opener, side::other}) count_lost(s);
    state_ = why;
    opener_.close();
    other_.close();
}

way_counts split_connection::counts(side sender) const {
    const direction& d = from(sender);
    return {d.in, d.out, d.lost, over() ? 0 : d.ring.size(), d.ring.most()};
}

}  // namespace wip::split
