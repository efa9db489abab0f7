// SPDX-License-Identifier: GPL-3.0-or-later
// Stream sockets to a child that is not trusted with more than its own run: whole messages, with
// descriptors where the protocol has some. A peer that has gone is `false`, anything else throws
// std::system_error.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace wip::virtual_time {

// The kernel of a run breaks a protocol, `what`: it is another kernel than the one that
// ./openwip setup --virtual-time makes, or damaged. Throws peer_error.
[[noreturn]] void refuse_kernel(const std::string& what);

}  // namespace wip::virtual_time

namespace wip::virtual_time::unix_socket {

// Bound and listening; the path is short (108 bytes).
int listen_at(const std::string& path);
int accept_from(int listener);
// False: the other side has closed the connection. Throws machine_error.
bool send(int fd, const void* data, std::size_t size, const int* fds = nullptr,
          std::size_t nof_fds = 0);
// Receives `size` bytes; false: they do not come. Descriptors that come with them are appended to
// `fds`, or closed.
bool receive(int fd, void* data, std::size_t size, std::vector<int>* fds = nullptr);

}  // namespace wip::virtual_time::unix_socket
