// SPDX-License-Identifier: GPL-3.0-or-later
#include "tun/network_namespace.h"

#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>

namespace wip {
namespace {

int open_namespace(const std::string& path) {
    const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0) throw std::runtime_error(path + ": " + strerror(errno));
    return fd;
}

}  // namespace

void in_network_namespace(const std::string& network_namespace, const std::string& key,
                          const std::function<void()>& act) {
    if (network_namespace.empty()) return act();
    const std::string what = key + " = " + network_namespace + ": ";
    const int home = open_namespace("/proc/thread-self/ns/net");
    int there = -1;
    try {
        there = open_namespace("/run/netns/" + network_namespace);
    } catch (const std::runtime_error& e) {
        ::close(home);
        throw std::runtime_error(what + e.what());
    }
    const bool entered = ::setns(there, CLONE_NEWNET) == 0;
    const int why = errno;
    ::close(there);
    if (!entered) {
        ::close(home);
        throw std::runtime_error(what + strerror(why));
    }
    const auto go_home = [home] {
        const bool back = ::setns(home, CLONE_NEWNET) == 0;
        const int e = errno;
        ::close(home);
        if (!back) throw std::runtime_error(std::string("back from a namespace: ") + strerror(e));
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
