// SPDX-License-Identifier: GPL-3.0-or-later
#include "tun/network_namespace.h"

#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "types/failure.h"

namespace wip {
namespace {

int open_namespace(const std::string& path) {
    const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0) throw machine_error(path, errno);
    return fd;
}

}  // namespace

void in_network_namespace(const std::string& network_namespace, const std::string& key,
                          const std::function<void()>& act) {
    if (network_namespace.empty()) return act();
    const std::string what = key + " is " + network_namespace + ": ";
    const int home = open_namespace("/proc/thread-self/ns/net");
    int namespace_fd = -1;
    try {
        namespace_fd = open_namespace("/run/netns/" + network_namespace);
    } catch (const machine_error& e) {
        ::close(home);
        throw bad_input(what + e.what());
    }
    const bool entered = ::setns(namespace_fd, CLONE_NEWNET) == 0;
    const int why = errno;
    ::close(namespace_fd);
    if (!entered) {
        ::close(home);
        throw bad_input(what + strerror(why));
    }
    const auto go_home = [home] {
        const bool back = ::setns(home, CLONE_NEWNET) == 0;
        const int e = errno;
        ::close(home);
        if (!back) throw machine_error("cannot go back to its own network namespace", e);
    };
    try {
        act();
    } catch (...) {
        go_home();
        throw;
    }
    go_home();
}

}  // namespace wip
