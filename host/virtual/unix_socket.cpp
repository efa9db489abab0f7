// SPDX-License-Identifier: GPL-3.0-or-later
#include "virtual/unix_socket.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "types/failure.h"

namespace wip::virtual_time {

void refuse_kernel(const std::string& what) {
    throw peer_error("virtual time: the Linux kernel " + what +
                     ", which breaks its protocol; valid: the kernel that ./openwip setup "
                     "--virtual-time makes");
}

}  // namespace wip::virtual_time

namespace wip::virtual_time::unix_socket {
namespace {

constexpr std::size_t most_fds = 8;  // descriptors of a message

[[noreturn]] void fail(const std::string& what) {
    throw machine_error("virtual time: " + what, errno);
}

}  // namespace

int listen_at(const std::string& path) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (path.size() >= sizeof address.sun_path) {
        errno = ENAMETOOLONG;
        fail("cannot listen at the socket " + path);
    }
    std::memcpy(address.sun_path, path.c_str(), path.size());
    const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0) fail("cannot make the socket " + path);
    if (::bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
        ::listen(fd, 1) != 0) {
        const int why = errno;
        ::close(fd);
        errno = why;
        fail("cannot listen at the socket " + path);
    }
    return fd;
}

int accept_from(int listener) {
    const int fd = ::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
    if (fd < 0) fail("cannot accept the connection of the Linux kernel");
    return fd;
}

bool send(int fd, const void* data, std::size_t size, const int* fds, std::size_t nof_fds) {
    iovec part{const_cast<void*>(data), size};
    msghdr m{};
    m.msg_iov = &part;
    m.msg_iovlen = 1;
    alignas(cmsghdr) char room[CMSG_SPACE(sizeof(int) * most_fds)] = {};
    if (nof_fds > 0) {
        m.msg_control = room;
        m.msg_controllen = CMSG_SPACE(sizeof(int) * nof_fds);
        cmsghdr* c = CMSG_FIRSTHDR(&m);
        c->cmsg_level = SOL_SOCKET;
        c->cmsg_type = SCM_RIGHTS;
        c->cmsg_len = CMSG_LEN(sizeof(int) * nof_fds);
        std::memcpy(CMSG_DATA(c), fds, sizeof(int) * nof_fds);
    }
    for (;;) {
        const ssize_t n = ::sendmsg(fd, &m, MSG_NOSIGNAL);
        if (n == static_cast<ssize_t>(size)) return true;
        if (n < 0 && errno == EINTR) continue;
        if (n < 0 && (errno == EPIPE || errno == ECONNRESET)) return false;
        if (n >= 0) errno = EMSGSIZE;
        fail("cannot send a message to the Linux kernel");
    }
}

bool receive(int fd, void* data, std::size_t size, std::vector<int>* fds) {
    for (std::size_t done = 0; done < size;) {
        iovec part{static_cast<char*>(data) + done, size - done};
        msghdr m{};
        m.msg_iov = &part;
        m.msg_iovlen = 1;
        alignas(cmsghdr) char room[CMSG_SPACE(sizeof(int) * most_fds)];
        m.msg_control = room;
        m.msg_controllen = sizeof room;
        const ssize_t n = ::recvmsg(fd, &m, MSG_CMSG_CLOEXEC);
        if (n == 0 || (n < 0 && errno == ECONNRESET)) return false;
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) fail("cannot receive a message of the Linux kernel");
        done += static_cast<std::size_t>(n);
        for (cmsghdr* c = CMSG_FIRSTHDR(&m); c != nullptr; c = CMSG_NXTHDR(&m, c)) {
            if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS) continue;
            for (std::size_t i = 0; CMSG_LEN(sizeof(int) * (i + 1)) <= c->cmsg_len; ++i) {
                int one = -1;
                std::memcpy(&one, CMSG_DATA(c) + i * sizeof(int), sizeof one);
                if (fds != nullptr)
                    fds->push_back(one);
                else
                    ::close(one);
            }
        }
    }
    return true;
}

}  // namespace wip::virtual_time::unix_socket
