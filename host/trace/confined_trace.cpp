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
#include <array>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

#include "os/privileges.h"
#include "trace/call_filter.h"
#include "trace/trace_file.h"
#include "types/descriptor.h"

namespace wip::trace {
namespace {

using clock = std::chrono::steady_clock;

constexpr int copy_fd = 3, answer_fd = 4;       // the only descriptors of the child
constexpr rlim_t data_limit = rlim_t{2} << 30;  // bytes of memory
constexpr rlim_t cpu_limit_s = 60;              // seconds; a trace of two hours takes some seconds
// bytes of a file for which the child gets one more second of processor time
constexpr rlim_t bytes_of_a_second = 64 << 20;
constexpr std::size_t longest_message = 1000;  // characters

// The child's messages: the heading, then chunks of chunk_slots rows followed by their predictions.
// Before each of these stands a tag: that it follows, or the length of an error message that
// follows instead and ends the stream.
using tag = std::uint32_t;
constexpr tag goes_on = 0;
struct heading {
    std::int64_t slots = 0;
    std::int64_t horizon_slots = -1;  // -1: no predictions
    std::uint64_t seed = 0;
    double mean_snr_db = 0, speed_kmh = 0, carrier_hz = 0, nmse = 0, measured_nmse = 0;
    std::array<std::uint32_t, 4> text_bytes{};  // lengths of the texts of texts_of(), which follow
};
constexpr std::uint32_t longest_text = 1 << 20;  // bytes

std::array<std::string*, 4> texts_of(trace_info& i, prediction_info& p) {
    return {&i.channel, &i.definition, &i.software, &p.method};
}

[[noreturn]] void fail(const std::string& file, const std::string& why) {
    throw error(file + ": " + why);
}
[[noreturn]] void fail_with_errno(const std::string& file) {
    fail(file, std::string("cannot be read: ") + std::strerror(errno));
}

// A regular file: a FIFO is not waited for.
int opened(const std::string& file) {
    const int fd = ::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (fd < 0) fail_with_errno(file);
    struct stat info {};
    const bool known = ::fstat(fd, &info) == 0;
    if (known && S_ISREG(info.st_mode)) return fd;
    ::close(fd);
    if (!known) fail_with_errno(file);
    fail(file, "is not an HDF5 file; valid: an SNR trace");
}

// A copy of the file that nothing can change while it is read, not even the child.
int sealed_copy(const std::string& file) {
    const descriptor from(opened(file));
    struct stat info {};
    if (::fstat(from.get(), &info) != 0) fail_with_errno(file);
    // More would not fit the child; and a file may be long and take no room.
    if (info.st_size > static_cast<off_t>(data_limit))
        fail(file, "has " + std::to_string(info.st_size) + " bytes; valid: up to " +
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

// Writes all bytes, by as many calls as that takes; false at an error.
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

void confine(int copy, int answer, const std::optional<os::account>& user, pid_t parent) {
    for (const int s : {SIGSEGV, SIGBUS, SIGABRT, SIGPIPE, SIGTERM, SIGXCPU}) ::signal(s, SIG_DFL);
    const int null = ::open("/dev/null", O_RDWR);
    for (int fd = 0; fd < 3; ++fd) ::dup2(null, fd);
    // The descriptors are first moved away from the two numbers that they are to get.
    const int high_copy = ::fcntl(copy, F_DUPFD, 10), high_answer = ::fcntl(answer, F_DUPFD, 10);
    ::dup2(high_copy, copy_fd);
    ::dup2(high_answer, answer_fd);
    ::close_range(answer_fd + 1, ~0U, 0);
    os::forbid_new_privileges();
    if (user) os::drop_privileges(*user);
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);     // changing the user clears it
    if (::getppid() != parent) ::_exit(2);  // the parent died before the signal was set
    limit(RLIMIT_CORE, 0);
    limit(RLIMIT_FSIZE, 0);
    struct stat info {};
    ::fstat(copy_fd, &info);
    const auto size = static_cast<rlim_t>(info.st_size);
    limit(RLIMIT_CPU, cpu_limit_s + size / bytes_of_a_second);
#ifndef __SANITIZE_ADDRESS__
    limit(RLIMIT_DATA, data_limit + (size > data_limit ? 3 * size : 0));
#endif
    limit(RLIMIT_NPROC, 0);
    limit(RLIMIT_NOFILE, 0);
    allow_reading_calls_only();
}

void send_rows(const std::string& file) {
    struct stat info {};
    ::fstat(copy_fd, &info);
    const auto size = static_cast<std::size_t>(info.st_size);
    const void* bytes =
        size == 0 ? nullptr : ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, copy_fd, 0);
    if (bytes == MAP_FAILED) fail_with_errno(file);
    reader in(std::span(static_cast<const std::byte*>(bytes), size), file);
    trace_info info_sent = in.info();
    const auto& prediction = in.info().prediction;
    prediction_info p = prediction.value_or(prediction_info{});
    heading h{.slots = in.nof_slots(),
              .horizon_slots = prediction ? p.horizon_slots : -1,
              .seed = info_sent.seed,
              .mean_snr_db = info_sent.mean_snr_db,
              .speed_kmh = info_sent.speed_kmh,
              .carrier_hz = info_sent.carrier_hz,
              .nmse = p.nmse,
              .measured_nmse = p.measured_nmse};
    const auto texts = texts_of(info_sent, p);
    for (std::size_t n = 0; n < texts.size(); ++n)
        h.text_bytes[n] = static_cast<std::uint32_t>(texts[n]->size());
    if (!write_all(answer_fd, &goes_on, sizeof goes_on) || !write_all(answer_fd, &h, sizeof h))
        return;
    for (const std::string* text : texts)
        if (!write_all(answer_fd, text->data(), text->size())) return;
    std::vector<trace_row> snr(chunk_slots), predicted(prediction ? snr.size() : 0);
    for (std::int64_t t = 0; t < h.slots; t += chunk_slots) {
        const auto n = static_cast<std::size_t>(std::min<std::int64_t>(chunk_slots, h.slots - t));
        const auto rows = std::span(predicted).first(prediction ? n : 0);
        in.read(t, std::span(snr).first(n), rows);
        if (!write_all(answer_fd, &goes_on, sizeof goes_on) ||
            !write_all(answer_fd, snr.data(), n * sizeof(trace_row)) ||
            !write_all(answer_fd, rows.data(), rows.size_bytes()))
            return;
    }
}

[[noreturn]] void child(const std::string& file, int copy, int answer,
                        const std::optional<os::account>& user, pid_t parent) {
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
    const char* name = sigabbrev_np(signal);  // real-time signals have no name
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
        if (pid_ > 0) {
            ::kill(pid_, SIGKILL);
            while (::waitpid(pid_, &status_, 0) < 0 && errno == EINTR) {
            }
        }
        pid_ = -1;
        return WIFSIGNALED(status_) && WTERMSIG(status_) != SIGKILL ? WTERMSIG(status_) : 0;
    }

private:
    pid_t pid_;
    int status_ = 0;
};

// Reads the child's messages. The reader is root, and must be stoppable by a signal.
class answers {
public:
    answers(int fd, const std::string& file, std::chrono::milliseconds patience)
        : fd_(fd), file_(file), patience_(patience), end_(clock::now() + patience) {}
    // Begins the time to wait for the next rows anew.
    void wait_anew() { end_ = clock::now() + patience_; }

    // Reads `size` bytes; false at an error or the end.
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

// The child of one file and what it sends.
class conversation {
public:
    // `copy`: the bytes of the file.
    conversation(std::string file, const std::string& user, int copy,
                 std::chrono::milliseconds patience)
        : file_(std::move(file)) {
        std::optional<os::account> account;
        if (::geteuid() == 0) {
            account = os::find_account(user);
            if (!account)
                fail(file_,
                     "user is " + user +
                         ", which is no user of this computer; valid: the account of a login name");
        }
        int ends[2];
        if (::pipe2(ends, O_CLOEXEC) != 0) fail_with_errno(file_);
        from_ = descriptor(ends[0]);
        descriptor to(ends[1]);
        const pid_t parent = ::getpid();
        const pid_t pid = ::fork();
        if (pid < 0) fail_with_errno(file_);
        if (pid == 0) child(file_, copy, to.get(), account, parent);
        reading_.emplace(pid);
        in_.emplace(from_.get(), file_, patience);
    }

    // The description of the rows. Throws error.
    heading read_heading(trace_info& info) {
        heading h;
        prediction_info p;
        bool whole = follows() && in_->read(&h, sizeof h) && h.slots > 0 && h.slots <= max_slots &&
                     h.horizon_slots <= longest_horizon;
        for (const double v : {h.mean_snr_db, h.speed_kmh, h.carrier_hz, h.nmse, h.measured_nmse})
            whole = whole && std::isfinite(v);
        const auto texts = texts_of(info, p);
        for (std::size_t n = 0; whole && n < texts.size(); ++n) {
            whole = h.text_bytes[n] <= longest_text;
            texts[n]->resize(whole ? h.text_bytes[n] : 0);
            whole = whole && in_->read(texts[n]->data(), texts[n]->size());
        }
        if (!whole) damaged();
        info.seed = h.seed;
        info.mean_snr_db = h.mean_snr_db;
        info.speed_kmh = h.speed_kmh;
        info.carrier_hz = h.carrier_hz;
        p.nmse = h.nmse;
        p.measured_nmse = h.measured_nmse;
        p.horizon_slots = static_cast<int>(h.horizon_slots);
        if (h.horizon_slots >= 0) info.prediction = p;
        return h;
    }

    // Appends the rows of a chunk. Throws error.
    void read_rows(std::size_t n, std::vector<trace_row>& snr, std::vector<trace_row>* predicted) {
        const auto take = [&](std::vector<trace_row>& rows) {
            rows.resize(rows.size() + n);
            return in_->read(&rows[rows.size() - n], n * sizeof(trace_row));
        };
        if (!follows() || !take(snr) || (predicted != nullptr && !take(*predicted))) damaged();
    }

    // Ends the reading after all rows. Throws `error` if the child was ended by a signal or reports
    // an error.
    void finish() {
        follows();
        if (!message_.empty() || reading_->end() != 0) damaged();
    }
    void wait_anew() { in_->wait_anew(); }

private:
    bool follows() {
        tag next = goes_on;
        if (!in_->read(&next, sizeof next)) return false;
        message_.resize(std::min<std::size_t>(next, longest_message));
        in_->read(message_.data(), message_.size());
        return next == goes_on;
    }
    [[noreturn]] void damaged() {
        if (const int signal = reading_->end(); signal != 0)
            fail(file_, "cannot be read: the file is damaged (its reader was ended by " +
                            name_of(signal) + ")");
        if (!message_.empty()) throw error(message_);
        fail(file_, "cannot be read: the file is damaged");
    }

    std::string file_, message_;
    descriptor from_{-1};
    std::optional<child_process> reading_;
    std::optional<answers> in_;
};

}  // namespace

std::string reading_account() { return os::find_account("openwip") ? "openwip" : "nobody"; }

confined_trace read_confined(const std::string& file, const std::string& user,
                             std::chrono::milliseconds patience) {
    const descriptor copy(sealed_copy(file));
    conversation with(file, user, copy.get(), patience);
    trace_info info;
    const heading h = with.read_heading(info);
    const bool has_predictions = info.prediction.has_value();
    const std::int64_t most = has_predictions ? most_played_slots / 2 : most_played_slots;
    if (h.slots > most)
        fail(file, "has " + std::to_string(h.slots) + " slots" +
                       (has_predictions ? " with predictions" : "") + "; valid: 1.." +
                       std::to_string(most) + ", as it is played from memory");
    confined_trace t;
    t.snr_db.reserve(static_cast<std::size_t>(h.slots));
    t.predicted_snr_db.reserve(has_predictions ? t.snr_db.capacity() : 0);
    for (std::int64_t at = 0; at < h.slots; at += chunk_slots)
        with.read_rows(static_cast<std::size_t>(std::min<std::int64_t>(chunk_slots, h.slots - at)),
                       t.snr_db, has_predictions ? &t.predicted_snr_db : nullptr);
    with.finish();
    if (has_predictions) t.horizon_slots = info.prediction->horizon_slots;
    return t;
}

struct confined_reader::impl {
    impl(const std::string& file, const std::string& user)
        : bytes(opened(file)), with(file, user, bytes.get(), std::chrono::seconds{90}) {}

    descriptor bytes;
    conversation with;
    trace_info info;
    std::int64_t slots = 0, at = 0;
};

confined_reader::confined_reader(const std::string& file, const std::string& user)
    : impl_(new impl(file, user)) {
    impl_->slots = impl_->with.read_heading(impl_->info).slots;
}

confined_reader::~confined_reader() = default;

const trace_info& confined_reader::info() const noexcept { return impl_->info; }
std::int64_t confined_reader::nof_slots() const noexcept { return impl_->slots; }

bool confined_reader::next(std::vector<trace_row>& snr_db,
                           std::vector<trace_row>& predicted_snr_db) {
    impl& r = *impl_;
    if (r.at >= r.slots) return false;
    const auto n = std::min<std::int64_t>(chunk_slots, r.slots - r.at);
    r.with.wait_anew();
    r.with.read_rows(static_cast<std::size_t>(n), snr_db,
                     r.info.prediction ? &predicted_snr_db : nullptr);
    r.at += n;
    if (r.at == r.slots) r.with.finish();
    return true;
}

}  // namespace wip::trace
