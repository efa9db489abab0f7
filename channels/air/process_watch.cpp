// SPDX-License-Identifier: GPL-3.0-or-later
#include "air/process_watch.h"

#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <fstream>
#include <sstream>
#include <string>
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

std::uint64_t process_start_time(std::int64_t process) {
    std::ifstream file("/proc/" + std::to_string(process) + "/stat");
    std::string text((std::istreambuf_iterator<char>(file)), {});
    const std::size_t end = text.rfind(')');  // the name may contain anything
    if (end == std::string::npos) return 0;
    std::istringstream rest(text.substr(end + 1));
    std::string field;
    for (int i = 3; i <= 22; ++i)
        if (!(rest >> field)) return 0;
    return std::stoull(field);
}

}  // namespace wip::air
