// SPDX-License-Identifier: GPL-3.0-or-later
#include "virtual/linux_guest.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <poll.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <utility>

#include "types/failure.h"
#include "virtual/unix_socket.h"

namespace wip::virtual_time {
namespace {

// The kernel's memory is a file that it maps to execute: in TMPDIR, without it in /dev/shm where
// that is a tmpfs (arch/um/os-Linux/mem.c). Containers have /dev/shm with noexec, where the kernel
// does not start, and with 64 MB, where it dies once it needs more.
bool shm_holds(std::uint64_t bytes) {
    const char* shm = "/dev/shm";
    struct statfs kind = {};
    struct statvfs room = {};
    return ::statfs(shm, &kind) == 0 && kind.f_type == TMPFS_MAGIC && ::statvfs(shm, &room) == 0 &&
           (room.f_flag & ST_NOEXEC) == 0 && room.f_bavail * room.f_frsize >= bytes &&
           ::access(shm, W_OK | X_OK) == 0;
}

}  // namespace

linux_guest::linux_guest(const guest_config& config, const calendar& time, packet_fn sent)
    : time_(time), sent_(std::move(sent)) {
    for (int i = 0; i < config.interfaces; ++i)
        nics_.emplace_back(
            [this, i](std::span<const std::uint8_t> packet) { sent_(i, packet, clock_.now()); });
    listeners_.push_back(unix_socket::listen_at(config.folder + "/clock"));
    for (int i = 0; i < config.interfaces; ++i)
        listeners_.push_back(unix_socket::listen_at(config.folder + "/nic" + std::to_string(i)));
    start(config);
}

linux_guest::~linux_guest() {
    if (process_ > 0) {
        ::kill(-process_, SIGKILL);
        ::waitpid(process_, nullptr, 0);
    }
    for (const int fd : listeners_)
        if (fd >= 0) ::close(fd);
}

void linux_guest::start(const guest_config& config) {
    std::vector<std::string> words{config.kernel,
                                   "mem=" + std::to_string(config.memory_mb) + "M",
                                   "rootflags=/proc/self/cwd",
                                   "root=/dev/root",
                                   "rootfstype=hostfs",
                                   "rw",
                                   "init=/init",
                                   "con=null",
                                   "con0=null,fd:2",
                                   "panic=-1",
                                   "uml_dir=.",
                                   "umid=kernel",
                                   "virtio_net.napi_tx=0",
                                   "time-travel=ext:clock"};
    for (int i = 0; i < config.interfaces; ++i)
        words.push_back("virtio_uml.device=nic" + std::to_string(i) + ":1");
    std::vector<char*> arguments;
    for (auto& w : words) arguments.push_back(w.data());
    arguments.push_back(nullptr);
    std::string home = "HOME=.", path = "PATH=/usr/bin:/bin", memory = "TMPDIR=.";
    const bool in_shm = shm_holds(std::uint64_t(config.memory_mb) << 20);
    char* environment[] = {home.data(), path.data(), in_shm ? nullptr : memory.data(), nullptr};

    const auto opened = [](const std::string& file, int flags) {
        const int fd = ::open(file.c_str(), flags | O_CLOEXEC, 0644);
        if (fd < 0) throw machine_error("virtual time: cannot open " + file, errno);
        return fd;
    };
    const int log = opened(config.folder + "/kernel.log", O_WRONLY | O_CREAT | O_TRUNC);
    const int in = opened("/dev/null", O_RDWR);

    const pid_t parent = ::getpid();
    process_ = ::fork();
    if (process_ < 0)
        throw machine_error("virtual time: cannot start the Linux kernel (fork)", errno);
    if (process_ > 0) {
        ::setpgid(process_, process_);
        ::close(in);
        ::close(log);
        return;
    }
    ::setpgid(0, 0);
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    sigset_t none;
    sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    // The address of the heap limits how much memory the kernel has, so it must not be random.
    ::personality(ADDR_NO_RANDOMIZE);
    if (::getppid() != parent || ::chdir(config.folder.c_str()) != 0 || ::dup2(in, 0) < 0 ||
        ::dup2(log, 1) < 0 || ::dup2(log, 2) < 0)
        ::_exit(126);
    ::execve(arguments[0], arguments.data(), environment);
    ::_exit(127);
}

int linux_guest::give(int interface, std::span<const std::uint8_t> packet) {
    if (ended()) return ENETDOWN;
    const int error = nics_[static_cast<std::size_t>(interface)].give(packet);
    if (error == 0) given_ns_ = std::min(given_ns_, time_.now());
    return error;
}

std::int64_t linux_guest::next_wakeup() const {
    if (ended()) return never;
    if (!started_) return 0;
    return std::min(clock_.wakeup(), given_ns_);
}

std::int64_t linux_guest::advance(std::int64_t now_ns) {
    // The kernel was called, and may have nothing to do yet: it waits on.
    bool runs = !started_ || clock_.wakeup() <= now_ns;
    if (started_ && given_ns_ <= now_ns) {
        given_ns_ = never;
        for (int i = 0; i < static_cast<int>(nics_.size()); ++i) call(i, vhost_nic::receive);
        runs |= std::exchange(called_, false);
    }
    if (!runs) return now_ns;
    clock_.set_free_until(time_.before_others(*this));
    if (std::exchange(started_, true)) {
        if (!clock_.uses_futex() && std::ranges::all_of(nics_, &vhost_nic::ready))
            clock_.use_futex();
        clock_.run(now_ns);
    }
    run_until_it_waits();
    return ended() ? now_ns : std::max(now_ns, clock_.now());
}

void linux_guest::run_until_it_waits() {
    using std::chrono::steady_clock;
    // as long as one wait for the kernel; a longer step counts as a stall
    constexpr std::chrono::seconds longest_step{1};
    steady_clock::duration silent{};
    auto looked = steady_clock::now();
    while (clock_.running() && !clock_.ended()) {
        // The end of the kernel and messages of its interfaces have to be noticed even if the clock
        // has no more messages.
        const bool by_futex = clock_.uses_futex();
        if (by_futex && clock_.wait_for_futex()) break;
        const bool any = take_messages(by_futex ? 0 : 1000);
        const auto now = steady_clock::now();
        silent += std::min<steady_clock::duration>(now - std::exchange(looked, now), longest_step);
        if (any) silent = {};
        if (silent > std::chrono::seconds(silence_s))
            throw peer_error(
                "virtual time: the Linux kernel has been silent for " + std::to_string(silence_s) +
                " s; its last messages are in the file kernel.log of the run's folder");
    }
    take_sent();
    if (clock_.ended() && process_ > 0) {
        ::kill(-process_, SIGKILL);
        ::waitpid(process_, nullptr, 0);
        process_ = -1;
    }
}

void linux_guest::take_sent() {
    for (int i = 0; i < static_cast<int>(nics_.size()); ++i) {
        if (!clock_.take_kick(i, vhost_nic::transmit)) continue;
        nics_[static_cast<std::size_t>(i)].take_sent();
        // The queue was full before.
        if (call(i, vhost_nic::transmit)) given_ns_ = std::min(given_ns_, clock_.now());
    }
}

bool linux_guest::call(int interface, int queue) {
    if (!nics_[static_cast<std::size_t>(interface)].call_wanted(queue)) return false;
    clock_.call(interface, queue);
    return called_ = true;
}

bool linux_guest::take_messages(int wait_ms) {
    // The sockets of the clock and of each interface, connected or still listening.
    pollfd watched[1 + time_travel::most_devices];
    const std::size_t n = std::min<std::size_t>(1 + nics_.size(), std::size(watched));
    for (std::size_t i = 0; i < n; ++i) {
        const int connected = i == 0 ? clock_.fd() : nics_[i - 1].fd();
        watched[i] = {listeners_[i] >= 0 ? listeners_[i] : connected, POLLIN, 0};
    }
    const int ready = ::poll(watched, n, wait_ms);
    if (ready < 0 && errno != EINTR)
        throw machine_error("virtual time: cannot wait for the Linux kernel (poll)", errno);
    if (int how = 0;
        ready == 0 && !clock_.attached() && ::waitpid(process_, &how, WNOHANG) == process_) {
        process_ = -1;
        throw peer_error("virtual time: the Linux kernel has not started: " +
                         (WIFSIGNALED(how) ? "signal " + std::to_string(WTERMSIG(how))
                                           : "exit code " + std::to_string(WEXITSTATUS(how))));
    }
    if (ready <= 0) return false;
    for (std::size_t i = n; i-- > 0;) {
        if (watched[i].revents == 0) continue;
        if (listeners_[i] >= 0) {
            const int fd = unix_socket::accept_from(listeners_[i]);
            ::close(listeners_[i]);
            listeners_[i] = -1;
            i == 0 ? clock_.attach(fd) : nics_[i - 1].attach(fd);
        } else if (i == 0) {
            clock_.serve();
        } else if (!nics_[i - 1].serve()) {
            listeners_[i] = -1;
        }
    }
    return true;
}

}  // namespace wip::virtual_time
