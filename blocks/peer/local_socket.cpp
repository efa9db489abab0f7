// SPDX-License-Identifier: GPL-3.0-or-later
#include "peer/local_socket.h"

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "types/failure.h"

namespace wip::peer {
namespace {

constexpr std::size_t most_descriptors = 8;

}  // namespace

sockaddr_un address_of(const std::string& path) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (path.empty() || path.size() > longest_socket_path)
        throw std::invalid_argument("the path of the socket " + path + " has " +
                                    std::to_string(path.size()) + " characters; valid: 1.." +
                                    std::to_string(longest_socket_path));
    std::memcpy(address.sun_path, path.data(), path.size());
    return address;
}

descriptor make_local_socket() {
    descriptor fd(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    if (!fd.valid()) throw machine_error("cannot make a socket of this machine", errno);
    return fd;
}

descriptor connect_to(const std::string& path) {
    descriptor fd = make_local_socket();
    const sockaddr_un address = address_of(path);
    if (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0)
        return fd;
    const int error = errno;
    fd.close();
    errno = error;
    return fd;
}

peer_process process_at(int fd) {
    ucred found{};
    socklen_t size = sizeof found;
    if (::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &found, &size) != 0 || size != sizeof found)
        return {0, static_cast<uid_t>(-1)};
    return {found.pid, found.uid};
}

bool is_own_or_root(uid_t user) { return user == 0 || user == ::geteuid(); }

bool send_message(int fd, std::span<const std::byte> bytes,
                  std::initializer_list<int> descriptors) {
    iovec part{const_cast<std::byte*>(bytes.data()), bytes.size()};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    alignas(cmsghdr) char room[CMSG_SPACE(sizeof(int) * most_descriptors)] = {};
    const std::size_t size = sizeof(int) * descriptors.size();
    if (descriptors.size() > most_descriptors)
        throw std::logic_error("too many descriptors for one message");
    if (size > 0) {
        message.msg_control = room;
        message.msg_controllen = CMSG_SPACE(size);
        cmsghdr* c = CMSG_FIRSTHDR(&message);
        c->cmsg_level = SOL_SOCKET;
        c->cmsg_type = SCM_RIGHTS;
        c->cmsg_len = CMSG_LEN(size);
        std::memcpy(CMSG_DATA(c), descriptors.begin(), size);
    }
    return ::sendmsg(fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT) ==
           static_cast<ssize_t>(bytes.size());
}

std::ptrdiff_t receive_message(int fd, std::span<std::byte> bytes,
                               std::vector<descriptor>& descriptors,
                               std::size_t descriptors_expected) {
    iovec part{bytes.data(), bytes.size()};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    alignas(cmsghdr) char room[CMSG_SPACE(sizeof(int) * most_descriptors)] = {};
    message.msg_control = room;
    message.msg_controllen = sizeof room;
    const ssize_t n = ::recvmsg(fd, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (n < 0) return -1;
    for (cmsghdr* c = CMSG_FIRSTHDR(&message); c != nullptr; c = CMSG_NXTHDR(&message, c)) {
        if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS) continue;
        for (std::size_t i = 0; CMSG_LEN(sizeof(int) * (i + 1)) <= c->cmsg_len; ++i) {
            int one = -1;
            std::memcpy(&one, CMSG_DATA(c) + i * sizeof one, sizeof one);
            descriptor received(one);
            if (descriptors.size() < descriptors_expected)
                descriptors.push_back(std::move(received));
        }
    }
    if ((message.msg_flags & MSG_TRUNC) != 0) return static_cast<std::ptrdiff_t>(bytes.size()) + 1;
    return n;
}

}  // namespace wip::peer
