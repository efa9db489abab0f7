// SPDX-License-Identifier: GPL-3.0-or-later
// Sockets of this machine that keep message boundaries (AF_UNIX, SOCK_SEQPACKET): messages that
// carry descriptors, and who the process at the other end is. The kernel says who it is
// (SO_PEERCRED): of a listener, the process and user at the moment of listen(); of a client, those
// at the moment of connect().
#pragma once

#include <sys/types.h>
#include <sys/un.h>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <vector>

#include "types/descriptor.h"

namespace wip::peer {

inline constexpr std::size_t longest_socket_path = sizeof(sockaddr_un::sun_path) - 1;

// The path has 1 to longest_socket_path characters.
sockaddr_un address_of(const std::string& path);

// Non-blocking, closed by exec. Throws machine_error.
descriptor make_local_socket();

// Connects to a listener. An invalid descriptor, with the reason in errno, when nobody listens at
// `path`.
descriptor connect_to(const std::string& path);

struct peer_process {
    pid_t process;
    uid_t user;
};
// The process at the other end of a socket; its user is -1 if the kernel does not know it.
peer_process process_at(int fd);

// Root, and this process's own user: who may be at the other end of a socket that only those two
// share.
bool is_own_or_root(uid_t user);

// One message, and the descriptors with it. False: it could not be sent at once.
bool send_message(int fd, std::span<const std::byte> bytes, std::initializer_list<int> descriptors);

// Receives a message. Returns its size, 0 at the end of the connection, -1 with errno when there is
// none; a message longer than `bytes` has size bytes.size() + 1. At most `descriptors_expected`
// descriptors are kept, further ones are closed.
std::ptrdiff_t receive_message(int fd, std::span<std::byte> bytes,
                               std::vector<descriptor>& descriptors,
                               std::size_t descriptors_expected);

}  // namespace wip::peer
