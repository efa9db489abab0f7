// SPDX-License-Identifier: GPL-3.0-or-later
// Stream sockets to a child that is not trusted with more than its own run: whole messages, with
// descriptors where the protocol has some. A peer that has gone is `false`, anything else throws
// std::system_error.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace wip::virtual_time::unix_socket {

// Bound and listening; the path is short (108 bytes).
int listen_at(const std::string& path);
int accept_from(int listener);
bool send(int fd, const void* data, std::size_t size, const int* fds = nullptr,
          std::size_t nof_fds = 0);
// At least `least` bytes and at most `most`, how many; 0: not at all. Descriptors that come with
// them are appended to `fds`, or closed.
std::size_t receive(int fd, void* data, std::size_t least, std::size_t most,
                    std::vector<int>* fds = nullptr);
inline bool receive(int fd, void* data, std::size_t size) {
    return receive(fd, data, size, size) != 0;
}

}  // namespace wip::virtual_time::unix_socket
