// SPDX-License-Identifier: GPL-3.0-or-later
#include "runtime/process.h"

#include <signal.h>
#include <spdlog/spdlog.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "types/failure.h"

namespace wip::host {
namespace {

[[noreturn]] void fail(const std::string& what) { throw machine_error(what, errno); }

}  // namespace

int make_signal_descriptor() {
    sigset_t set;
    sigemptyset(&set);
    for (const int s : {SIGTERM, SIGINT, SIGHUP}) sigaddset(&set, s);
    sigprocmask(SIG_BLOCK, &set, nullptr);
    signal(SIGPIPE, SIG_IGN);
    const int fd = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
    if (fd < 0) fail("cannot take signals as a descriptor (signalfd)");
    return fd;
}

std::optional<std::string> take_signal(int descriptor) {
    signalfd_siginfo info{};
    if (::read(descriptor, &info, sizeof info) != sizeof info) return std::nullopt;
    const char* name = sigabbrev_np(static_cast<int>(info.ssi_signo));
    return std::string("SIG") + (name != nullptr ? name : "?");
}

void follow_parent() {
    const char* run = std::getenv("OPENWIP_RUN");
    if (run == nullptr || *run == '\0') return;
    const pid_t parent = ::getppid();
    prctl(PR_SET_PDEATHSIG, SIGTERM, 0, 0, 0);
    if (::getppid() != parent) raise(SIGTERM);  // the parent died before the signal was set
}

int run_to_its_end(const std::function<int()>& run) noexcept {
    try {
        return run();
    } catch (const std::exception& e) {
        spdlog::critical("ends: failed: {}", e.what());
        return config::is<peer_error>(e) ? exit_peer_lost : exit_failed;
    }
}

}  // namespace wip::host
