// SPDX-License-Identifier: GPL-3.0-or-later
#include "trace/confined_trace.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

#include "runtime/privileges.h"
#include "trace/trace_file.h"

namespace wip::trace {
namespace {

constexpr int copy_fd = 3, answer_fd = 4;  // all that the child has
constexpr rlim_t data_limit = rlim_t{2} << 30;
constexpr std::size_t longest_message = 1000;

class descriptor {
public:
    explicit descriptor(int fd) : fd_(fd) {}
    descriptor(const descriptor&) = delete;
    descriptor& operator=(const descriptor&) = delete;
    ~descriptor() { close(); }
    int get() const { return fd_; }
    void close() {
        if (fd_ >= 0) ::close(fd_);
        fd_ = -1;
    }

private:
    int fd_;
};

// What the child sends: the heading, then chunks of chunk_slots rows with their predictions
// behind them. Before each of these stands a tag: that it follows, or the length of a message that
// follows instead, with which all ends.
using tag = std::uint32_t;
constexpr tag goes_on = 0;
struct heading {
    std::int64_t slots = 0;
    std::int64_t horizon_slots = -1;  // -1: no predictions
};

// All of it, by as many calls as it takes; false at an error or the end.
template <class Call, class Byte>
bool transfer_all(Call call, int fd, Byte* at, std::size_t size) {
    while (size > 0) {
        const ssize_t n = call(fd, at, size);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return false;
        at += n;
        size -= static_cast<std::size_t>(n);
    }
    return true;
}
bool write_all(int fd, const void* data, std::size_t size) {
    return transfer_all(::write, fd, static_cast<const char*>(data), size);
}
bool read_all(int fd, void* data, std::size_t size) {
    return transfer_all(::read, fd, static_cast<char*>(data), size);
}

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
    ::setrlimit(what, &now);
}

void confine(int copy, int answer, const std::optional<runtime::account>& user) {
    for (const int s : {SIGSEGV, SIGBUS, SIGABRT, SIGPIPE, SIGTERM}) ::signal(s, SIG_DFL);
    const int null = ::open("/dev/null", O_RDWR);
    for (int fd = 0; fd < 3; ++fd) ::dup2(null, fd);
    // Out of the way of the two numbers first.
    const int high_copy = ::fcntl(copy, F_DUPFD, 10), high_answer = ::fcntl(answer, F_DUPFD, 10);
    ::dup2(high_copy, copy_fd);
    ::dup2(high_answer, answer_fd);
    ::close_range(answer_fd + 1, ~0U, 0);
    runtime::forbid_new_privileges();
    if (user) runtime::drop_privileges(*user);
    limit(RLIMIT_CORE, 0);
    limit(RLIMIT_FSIZE, 0);
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
                        const std::optional<runtime::account>& user) {
    std::string why;
    try {
        confine(copy, answer, user);
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

}  // namespace

confined_trace read_confined(const std::string& file, const std::string& user) {
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
    const pid_t pid = ::fork();
    if (pid < 0) fail_with_errno(file);
    if (pid == 0) child(file, copy.get(), to.get(), account);
    to.close();
    std::string message;
    const auto more = [&] {
        tag next = goes_on;
        if (!read_all(from.get(), &next, sizeof next)) return false;
        message.resize(std::min<std::size_t>(next, longest_message));
        read_all(from.get(), message.data(), message.size());
        return next == goes_on;
    };
    heading h;
    std::vector<trace_row> snr, predicted;
    bool whole =
        more() && read_all(from.get(), &h, sizeof h) && h.slots > 0 && h.slots <= max_slots;
    for (std::int64_t t = 0; whole && t < h.slots; t += chunk_slots) {
        const auto n = static_cast<std::size_t>(std::min<std::int64_t>(chunk_slots, h.slots - t));
        const auto take = [&](std::vector<trace_row>& rows) {
            rows.resize(rows.size() + n);
            return read_all(from.get(), &rows[rows.size() - n], n * sizeof(trace_row));
        };
        whole = more() && take(snr) && (h.horizon_slots < 0 || take(predicted));
    }
    if (!whole) ::kill(pid, SIGKILL);
    int status = 0;
    while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    if (WIFSIGNALED(status) && WTERMSIG(status) != SIGKILL)
        fail(file, std::string("cannot be read: the file is damaged (its reader was ended by SIG") +
                       sigabbrev_np(WTERMSIG(status)) + ")");
    if (!message.empty()) throw error(message);
    if (!whole) fail(file, "cannot be read: the file is damaged");
    confined_trace t{std::move(snr), std::move(predicted), {}};
    if (h.horizon_slots >= 0)
        t.horizon_slots = static_cast<int>(std::min(h.horizon_slots, std::int64_t{64}));
    return t;
}

}  // namespace wip::trace
