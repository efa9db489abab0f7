// SPDX-License-Identifier: GPL-3.0-or-later
#include "runtime/poll_set.h"

#include <time.h>

#include <algorithm>

namespace wip::host {

poll_set::place poll_set::add(int fd) {
    fds_.push_back({fd, POLLIN, 0});
    ready_.push_back(0);
    return fds_.size() - 1;
}

poll_set::place poll_set::add(zmq::socket_t& socket) {
    const place at = add_socket();
    replace(at, &socket);
    return at;
}

poll_set::place poll_set::add_socket() {
    const place at = add(-1);
    sockets_.push_back({at, nullptr, false});
    return at;
}

void poll_set::replace(place at, zmq::socket_t* socket) {
    const auto z = std::ranges::find(sockets_, at, &zmq_place::at);
    z->socket = socket;
    z->open = socket != nullptr;
    fds_[at].fd = socket == nullptr ? -1 : socket->get(zmq::sockopt::fd);
}

bool poll_set::still_has(zmq_place& z) const {
    if (z.open) z.open = (z.socket->get(zmq::sockopt::events) & ZMQ_POLLIN) != 0;
    return z.open;
}

bool poll_set::sleep(std::chrono::nanoseconds patience) {
    bool waiting = false;
    for (auto& z : sockets_) waiting |= still_has(z);
    if (waiting) patience = std::chrono::nanoseconds(0);
    for (auto& f : fds_) f.revents = 0;
    const timespec left{patience.count() / 1'000'000'000, patience.count() % 1'000'000'000};
    const int stirred =
        ::ppoll(fds_.data(), fds_.size(), patience.count() < 0 ? nullptr : &left, nullptr);
    for (std::size_t i = 0; i < fds_.size(); ++i) ready_[i] = fds_[i].revents != 0;
    for (auto& z : sockets_) {
        z.open |= ready_[z.at] != 0;
        ready_[z.at] = still_has(z);
    }
    return waiting || stirred > 0;
}

}  // namespace wip::host
