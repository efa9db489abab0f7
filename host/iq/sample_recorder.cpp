// SPDX-License-Identifier: GPL-3.0-or-later
#include "iq/sample_recorder.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "os/late_thread.h"
#include "types/failure.h"

namespace wip::iq {

namespace {

constexpr std::size_t most_stretches = 4096;                 // stretches without a gap
constexpr std::size_t largest_write = std::size_t{1} << 20;  // bytes
constexpr std::array<std::uint8_t, 8> reports_magic{'O', 'W', 'S', 'L', 'O', 'T', 'S', '1'};

int create(const std::string& name) {
    const int fd = ::open(name.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (fd < 0) throw bad_input(name + ": cannot be written: " + std::strerror(errno));
    return fd;
}

}  // namespace

std::size_t sample_recorder::byte_queue::room() const noexcept {
    return store.size() - static_cast<std::size_t>(position - read.load(std::memory_order_acquire));
}

void sample_recorder::byte_queue::put(std::span<const std::uint8_t> bytes) noexcept {
    const std::size_t at = position % store.size();
    const std::size_t first = std::min(bytes.size(), store.size() - at);
    std::memcpy(store.data() + at, bytes.data(), first);
    std::memcpy(store.data(), bytes.data() + first, bytes.size() - first);
    position += bytes.size();
}

sample_recorder::sample_recorder(const sample_recorder_config& config)
    : config_(config), end_(config.end) {
    if (!config.samples_file.empty()) {
        sample_queue_.fd = create(config.samples_file);
        sample_queue_.store.resize(config.queue_samples * sizeof(cf32));
    }
    if (!config.reports_file.empty()) {
        try {
            report_queue_.fd = create(config.reports_file);
        } catch (...) {
            if (sample_queue_.fd >= 0) ::close(sample_queue_.fd);
            throw;
        }
        report_queue_.store.resize(config.queue_bytes);
        report_queue_.put(reports_magic);
        report_queue_.written.store(report_queue_.position, std::memory_order_release);
    }
    facts_.stretches.reserve(most_stretches);
    thread_ = std::thread([this] { run(); });
}

sample_recorder::~sample_recorder() { finish(); }

void sample_recorder::samples(sample first, std::span<const cf32> in, double later) noexcept {
    if (sample_queue_.fd < 0) return;
    if (first < config_.begin) {
        const auto skip = std::min<std::int64_t>((config_.begin - first).value,
                                                 static_cast<std::int64_t>(in.size()));
        first += sample_count(skip);
        in = in.subspan(static_cast<std::size_t>(skip));
    }
    const sample after = first + sample_count(static_cast<std::int64_t>(in.size()));
    if (!in.empty() && !begun_) {
        begun_ = true;
        if (config_.most > sample_count(0)) end_ = std::min(end_, first + config_.most);
    }
    if (after >= end_) complete_.store(true, std::memory_order_relaxed);
    if (first >= end_) return;
    in = in.first(static_cast<std::size_t>(std::min<std::int64_t>(
        (end_ - sample(0)).value - first.value, static_cast<std::int64_t>(in.size()))));
    if (in.empty()) return;
    const auto n = static_cast<std::int64_t>(in.size());
    const bool jump = facts_.stretches.empty() || first != expected_ || later != later_;
    if (failed_.load(std::memory_order_relaxed) || sample_queue_.room() < in.size_bytes() ||
        (jump && facts_.stretches.size() == most_stretches)) {
        facts_.samples_lost += n;
        lost_ = true;
        return;
    }
    if (jump) facts_.stretches.push_back({facts_.samples, first.value, later, lost_});
    lost_ = false;
    later_ = later;
    expected_ = first + sample_count(n);
    sample_queue_.put({reinterpret_cast<const std::uint8_t*>(in.data()), in.size_bytes()});
    sample_queue_.written.store(sample_queue_.position, std::memory_order_release);
    facts_.samples += n;
    taken_.store(facts_.samples, std::memory_order_relaxed);
    wake();
}

void sample_recorder::report(sample start, std::span<const std::uint8_t> message) noexcept {
    if (report_queue_.fd < 0 || start < config_.begin || start >= end_) return;
    if (failed_.load(std::memory_order_relaxed) || report_queue_.room() < message.size() + 4) {
        ++facts_.reports_lost;
        return;
    }
    std::array<std::uint8_t, 4> length;
    for (std::size_t i = 0; i < length.size(); ++i)
        length[i] = static_cast<std::uint8_t>(message.size() >> (8 * i));
    report_queue_.put(length);
    report_queue_.put(message);
    report_queue_.written.store(report_queue_.position, std::memory_order_release);
    ++facts_.reports;
    wake();
}

void sample_recorder::wake() noexcept {
    news_.fetch_add(1, std::memory_order_release);
    news_.notify_one();
}

recording sample_recorder::finish() {
    if (thread_.joinable()) {
        over_.store(true, std::memory_order_release);
        wake();
        thread_.join();
        for (auto* queue : {&sample_queue_, &report_queue_}) {
            if (queue->fd >= 0 && ::close(queue->fd) != 0 && disk_error_.empty())
                disk_error_ = std::strerror(errno);
            queue->fd = -1;
        }
        facts_.error = disk_error_;
        facts_.complete = complete();
    }
    return facts_;
}

void sample_recorder::run() noexcept {
    os::may_be_late(false);
    for (;;) {
        const auto seen = news_.load(std::memory_order_acquire);
        const bool last = over_.load(std::memory_order_acquire);
        const bool some = drain(sample_queue_) | drain(report_queue_);
        if (some) continue;
        if (last) return;
        news_.wait(seen, std::memory_order_acquire);
    }
}

bool sample_recorder::drain(byte_queue& queue) noexcept {
    if (queue.fd < 0 || failed_.load(std::memory_order_relaxed)) return false;
    const std::uint64_t from = queue.read.load(std::memory_order_relaxed);
    const std::uint64_t to = queue.written.load(std::memory_order_acquire);
    if (from == to) return false;
    const std::size_t at = from % queue.store.size();
    const std::size_t n =
        std::min({static_cast<std::size_t>(to - from), queue.store.size() - at, largest_write});
    const auto done = ::write(queue.fd, queue.store.data() + at, n);
    if (done < 0) {
        if (errno == EINTR) return true;
        disk_error_ = std::strerror(errno);
        failed_.store(true, std::memory_order_relaxed);
        return false;
    }
    queue.read.store(from + static_cast<std::uint64_t>(done), std::memory_order_release);
    return true;
}

}  // namespace wip::iq
