// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/process.h"

#include <grp.h>
#include <linux/capability.h>
#include <pwd.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <stdexcept>

namespace wip::host {
namespace {

[[noreturn]] void fail(const std::string& what) {
    throw std::runtime_error(what + ": " + strerror(errno));
}

}  // namespace

int make_signal_descriptor() {
    sigset_t set;
    sigemptyset(&set);
    for (const int s : {SIGTERM, SIGINT, SIGHUP}) sigaddset(&set, s);
    sigprocmask(SIG_BLOCK, &set, nullptr);
    signal(SIGPIPE, SIG_IGN);
    const int fd = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
    if (fd < 0) fail("signalfd");
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
    if (::getppid() != parent) raise(SIGTERM);  // it died in between
}

std::string reason_to_stop() {
    std::string line;
    if (const char* run = std::getenv("OPENWIP_RUN"); run != nullptr) {
        std::ifstream in(std::string(run) + "/why");
        std::getline(in, line);
    }
    if (line.size() > 500) line.resize(500);
    return line.empty() ? "asked to stop" : line;
}

int exit_code_of(const std::string& why) {
    for (const auto* word : {"died", "killed", "silent", "gone", "ended with"})
        if (why.find(word) != std::string::npos) return exit_peer_lost;
    return exit_asked;
}

std::optional<account> find_account(const std::string& name) {
    const passwd* p = getpwnam(name.c_str());
    if (p == nullptr) return std::nullopt;
    return account{p->pw_uid, p->pw_gid, name};
}

bool ask_for_realtime_priority() noexcept {
    const sched_param p{.sched_priority = 10};
    return ::sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &p) == 0;
}

void forbid_new_privileges() {
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) fail("PR_SET_NO_NEW_PRIVS");
    // Needs CAP_SETPCAP; without that right there is nothing to lose.
    for (int cap = 0; cap <= 63; ++cap) prctl(PR_CAPBSET_DROP, cap, 0, 0, 0);
}

void drop_privileges(const account& a) {
    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
    if (::geteuid() == 0) {
        if (a.uid != 0) {
            if (::setgroups(0, nullptr) != 0) fail("setgroups");
            // glibc carries these to all threads, and with them the loss of the capabilities.
            if (::setresgid(a.gid, a.gid, a.gid) != 0) fail("setresgid " + a.name);
            if (::setresuid(a.uid, a.uid, a.uid) != 0) fail("setresuid " + a.name);
            if (::setuid(0) == 0) throw std::runtime_error("root could be taken back");
        }
    }
    if (::geteuid() == 0) return;  // `user: root`: keeps what root has
    __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
    __user_cap_data_struct none[2]{};
    if (::syscall(SYS_capset, &header, none) != 0) fail("capset");
}

void hand_over(const std::vector<std::string>& paths, const account& a) {
    for (const auto& path : paths)
        if (::geteuid() == 0 && ::chown(path.c_str(), a.uid, a.gid) != 0)
            fail(path + ": cannot be given to user " + a.name);
}

}  // namespace wip::host
