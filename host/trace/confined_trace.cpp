// SPDX-License-Identifier: GPL-3.0-or-later
#include "trace/confined_trace.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

#include "runtime/privileges.h"
#include "trace/trace_file.h"
#include "types/descriptor.h"

namespace wip::trace {
namespace {

using clock = std::chrono::steady_clock;

constexpr int copy_fd = 3, answer_fd = 4;  // all that the child has
constexpr rlim_t data_limit = rlim_t{2} << 30;
constexpr rlim_t cpu_limit_s = 60;  // a trace of two hours takes some seconds
constexpr std::size_t longest_message = 1000;

// What the child sends: the heading, then chunks of chunk_slots rows with their predictions
// behind them. Before each of these stands a tag: that it follows, or the length of a message that
// follows instead, with which all ends.
using tag = std::uint32_t;
constexpr tag goes_on = 0;
struct heading {
    std::int64_t slots = 0;
    std::int64_t horizon_slots = -1;  // -1: no predictions
};

[[noreturn]] void fail(const std::string& file, const std::string& why) {
    throw error(file + ": " + why);
}
[[noreturn]] void fail_with_errno(const std::string& file) {
    fail(file, std::string("cannot be read: ") + std::strerror(errno));
}

// Nobody changes it while it is read, the child included.
int sealed_copy(const std::string& file) {
    const descriptor from(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
    if (from.get() < 0) fail_with_errno(file);
    struct stat info {};
    if (::fstat(from.get(), &info) != 0) fail_with_errno(file);
    if (!S_ISREG(info.st_mode)) fail(file, "is not an HDF5 file; valid: an SNR trace");
    // More would not fit the child; and a file may be long and take no room.
    if (info.st_size > static_cast<off_t>(data_limit))
        fail(file, "has " + std::to_string(info.st_size) + " bytes: valid is up to " +
                       std::to_string(data_limit));
    const int to = ::memfd_create("trace", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (to < 0) fail_with_errno(file);
    off_t done = 0;
    while (done<info.st_size&& ::sendfile(to, from.get(), &done,
                                          static_cast<std::size_t>(info.st_size - done))> 0) {
    }
    if (done < info.st_size ||
        ::fcntl(to, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL) != 0) {
        const int why = errno;
        ::close(to);
        errno = why;
        fail_with_errno(file);
    }
    return to;
}

// --- the child ---

void limit(__rlimit_resource what, rlim_t most) {
    rlimit now{};
    ::getrlimit(what, &now);
    now.rlim_cur = now.rlim_max = std::min(most, now.rlim_max);
    // SIGXCPU a second before SIGKILL: the parent says by which signal it ended.
    if (what == RLIMIT_CPU && now.rlim_max > 1) --now.rlim_cur;
    ::setrlimit(what, &now);
}

// All of it, by as many calls as it takes; false at an error.
bool write_all(int fd, const void* data, std::size_t size) {
    for (const char* at = static_cast<const char*>(data); size > 0;) {
        const ssize_t n = ::write(fd, at, size);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return false;
        at += n;
        size -= static_cast<std::size_t>(n);
    }
    return true;
}

void confine(int copy, int answer, const std::optional<runtime::account>& user, pid_t parent) {
    for (const int s : {SIGSEGV, SIGBUS, SIGABRT, SIGPIPE, SIGTERM, SIGXCPU}) ::signal(s, SIG_DFL);
    const int null = ::open("/dev/null", O_RDWR);
    for (int fd = 0; fd < 3; ++fd) ::dup2(null, fd);
    // Out of the way of the two numbers first.
    const int high_copy = ::fcntl(copy, F_DUPFD, 10), high_answer = ::fcntl(answer, F_DUPFD, 10);
    ::dup2(high_copy, copy_fd);
    ::dup2(high_answer, answer_fd);
    ::close_range(answer_fd + 1, ~0U, 0);
    runtime::forbid_new_privileges();
    if (user) runtime::drop_privileges(*user);
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);     // lost with the user
    if (::getppid() != parent) ::_exit(2);  // it died in between
    limit(RLIMIT_CORE, 0);
    limit(RLIMIT_FSIZE, 0);
    limit(RLIMIT_CPU, cpu_limit_s);
#ifndef __SANITIZE_ADDRESS__
    limit(RLIMIT_DATA, data_limit);
#endif
}

void send_rows(const std::string& file) {
    struct stat info {};
    ::fstat(copy_fd, &info);
    const auto size = static_cast<std::size_t>(info.st_size);
    const void* bytes =
        size == 0 ? nullptr : ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, copy_fd, 0);
    if (bytes == MAP_FAILED) fail_with_errno(file);
    reader in(std::span(static_cast<const std::byte*>(bytes), size), file);
    const auto& prediction = in.info().prediction;
    const heading h{in.nof_slots(), prediction ? prediction->horizon_slots : -1};
    if (!write_all(answer_fd, &goes_on, sizeof goes_on) || !write_all(answer_fd, &h, sizeof h))
        return;
    std::vector<trace_row> snr(chunk_slots), predicted(prediction ? snr.size() : 0);
    for (std::int64_t t = 0; t < h.slots; t += chunk_slots) {
        const auto n = static_cast<std::size_t>(std::min<std::int64_t>(chunk_slots, h.slots - t));
        const auto p = std::span(predicted).first(prediction ? n : 0);
        in.read(t, std::span(snr).first(n), p);
        if (!write_all(answer_fd, &goes_on, sizeof goes_on) ||
            !write_all(answer_fd, snr.data(), n * sizeof(trace_row)) ||
            !write_all(answer_fd, p.data(), p.size_bytes()))
            return;
    }
}

[[noreturn]] void child(const std::string& file, int copy, int answer,
                        const std::optional<runtime::account>& user, pid_t parent) {
    std::string why;
    try {
        confine(copy, answer, user, parent);
        send_rows(file);
    } catch (const std::exception& e) {
        why = e.what();
    }
    if (!why.empty()) {
        why.resize(std::min(why.size(), longest_message));
        const auto length = static_cast<tag>(why.size());
        write_all(answer_fd, &length, sizeof length);
        write_all(answer_fd, why.data(), why.size());
    }
    ::_exit(why.empty() ? 0 : 2);
}

// --- the parent ---

std::string name_of(int signal) {
    const char* name = sigabbrev_np(signal);  // those for real time have none
    return name != nullptr ? std::string("SIG") + name : "signal " + std::to_string(signal);
}

// Ends the child, however this is left: one that was taken over would not end by itself.
class child_process {
public:
    explicit child_process(pid_t pid) : pid_(pid) {}
    child_process(const child_process&) = delete;
    child_process& operator=(const child_process&) = delete;
    ~child_process() { end(); }
    // The signal that it had ended by before, or 0.
    int end() {
        int status = 0;
        if (pid_ > 0) {
            ::kill(pid_, SIGKILL);
            while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
            }
        }
        pid_ = -1;
        return WIFSIGNALED(status) && WTERMSIG(status) != SIGKILL ? WTERMSIG(status) : 0;
    }

private:
    pid_t pid_;
};

// What the child sends. Whoever reads is root, and somebody may want to stop it.
class answers {
public:
    answers(int fd, const std::string& file, std::chrono::milliseconds patience)
        : fd_(fd), file_(file), patience_(patience), end_(clock::now() + patience) {}

    // All of it; false at an error or the end.
    bool read(void* data, std::size_t size) {
        for (char* at = static_cast<char*>(data); size > 0;) {
            wait();
            const ssize_t n = ::read(fd_, at, size);
            if (n <= 0) return false;
            at += n;
            size -= static_cast<std::size_t>(n);
        }
        return true;
    }

private:
    void wait() const {
        const auto left =
            std::chrono::duration_cast<std::chrono::milliseconds>(end_ - clock::now()).count();
        pollfd one{fd_, POLLIN, 0};
        const int n = left > 0 ? ::poll(&one, 1, static_cast<int>(left)) : 0;
        if (n < 0 && errno == EINTR) fail(file_, "cannot be read: interrupted by a signal");
        if (n < 0) fail_with_errno(file_);
        if (n == 0)
            fail(file_, "cannot be read: its reader has not finished in " +
                            std::to_string(patience_.count() / 1000) + " s");
    }

    int fd_;
    const std::string& file_;
    std::chrono::milliseconds patience_;
    clock::time_point end_;
};

}  // namespace

confined_trace read_confined(const std::string& file, const std::string& user,
                             std::chrono::milliseconds patience) {
    std::optional<runtime::account> account;
    if (::geteuid() == 0) {
        account = runtime::find_account(user);
        if (!account) fail(file, "user " + user + ": there is no such user");
    }
    const descriptor copy(sealed_copy(file));
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) fail_with_errno(file);
    const descriptor from(ends[0]);
    descriptor to(ends[1]);
    const pid_t parent = ::getpid();
    const pid_t pid = ::fork();
    if (pid < 0) fail_with_errno(file);
    if (pid == 0) child(file, copy.get(), to.get(), account, parent);
    child_process reading(pid);
    to.close();
    answers in(from.get(), file, patience);
    std::string message;
    const auto more = [&] {
        tag next = goes_on;
        if (!in.read(&next, sizeof next)) return false;
        message.resize(std::min<std::size_t>(next, longest_message));
        in.read(message.data(), message.size());
        return next == goes_on;
    };
    heading h;
    std::vector<trace_row> snr, predicted;
    bool whole = more() && in.read(&h, sizeof h) && h.slots > 0 && h.slots <= max_slots;
    const std::int64_t most = h.horizon_slots < 0 ? most_played_slots : most_played_slots / 2;
    if (whole && h.slots > most)
        fail(file, "has " + std::to_string(h.slots) + " slots" +
                       (h.horizon_slots < 0 ? "" : " with predictions") + ": valid is 1 to " +
                       std::to_string(most) + ", as it is played from memory");
    if (whole) {
        snr.reserve(static_cast<std::size_t>(h.slots));
        predicted.reserve(h.horizon_slots < 0 ? 0 : snr.capacity());
    }
    for (std::int64_t t = 0; whole && t < h.slots; t += chunk_slots) {
        const auto n = static_cast<std::size_t>(std::min<std::int64_t>(chunk_slots, h.slots - t));
        const auto take = [&](std::vector<trace_row>& rows) {
            rows.resize(rows.size() + n);
            return in.read(&rows[rows.size() - n], n * sizeof(trace_row));
        };
        whole = more() && take(snr) && (h.horizon_slots < 0 || take(predicted));
    }
    if (const int signal = reading.end(); signal != 0)
        fail(file, "cannot be read: the file is damaged (its reader was ended by " +
                       name_of(signal) + ")");
    if (!message.empty()) throw error(message);
    if (!whole) fail(file, "cannot be read: the file is damaged");
    confined_trace t{std::move(snr), std::move(predicted), {}};
    if (h.horizon_slots >= 0)
        t.horizon_slots = static_cast<int>(std::min(h.horizon_slots, std::int64_t{64}));
    return t;
}

}  // namespace wip::trace
