// SPDX-License-Identifier: GPL-3.0-or-later
#include "air/process_watch.h"

#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <utility>

namespace wip::air {

process_watch::process_watch(std::int64_t process) {
    self_ = process == getpid();
    if (!self_) fd_ = static_cast<int>(syscall(SYS_pidfd_open, static_cast<pid_t>(process), 0));
}

process_watch::~process_watch() {
    if (fd_ >= 0) close(fd_);
}

process_watch::process_watch(process_watch&& other) noexcept { *this = std::move(other); }

process_watch& process_watch::operator=(process_watch&& other) noexcept {
    std::swap(fd_, other.fd_);
    std::swap(self_, other.self_);
    return *this;
}

bool process_watch::alive() const noexcept {
    if (self_) return true;
    if (fd_ < 0) return false;
    pollfd p{fd_, POLLIN, 0};
    return poll(&p, 1, 0) <= 0;
}

}  // namespace wip::air
