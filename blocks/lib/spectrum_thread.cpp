// SPDX-License-Identifier: GPL-3.0-or-later
#include "spectrum_thread.h"

#include <algorithm>

#include "os/late_thread.h"

namespace wip {

spectrum_thread::spectrum_thread() : slot_samples_copy_(slot_samples) {
    thread_ = std::thread([this] { run(); });
}

spectrum_thread::~spectrum_thread() {
    stage_.store(stage::over, std::memory_order_release);
    stage_.notify_one();
    thread_.join();
}

void spectrum_thread::on_slot(std::int64_t air, std::int64_t every) noexcept {
    ++slots_since_;
    if (every == 0 || (air + std::min(every, slots_ahead)) % every != 0 ||
        slots_since_ < least_distance || stage_.load(std::memory_order_acquire) == stage::working)
        return;
    slots_since_ = 0;
    filled_ = 0;
    stage_.store(stage::filling, std::memory_order_relaxed);
}

bool spectrum_thread::samples(sample first, std::span<const cf32> in) noexcept {
    if (stage_.load(std::memory_order_relaxed) != stage::filling) return false;
    if (first != expected_) filled_ = 0;
    const std::size_t n = std::min(in.size(), slot_samples_copy_.size() - filled_);
    std::copy_n(in.begin(), n, slot_samples_copy_.begin() + static_cast<std::ptrdiff_t>(filled_));
    filled_ += n;
    expected_ = first + sample_count(static_cast<std::int64_t>(n));
    if (filled_ < slot_samples_copy_.size()) return true;
    stage_.store(stage::working, std::memory_order_release);
    stage_.notify_one();
    return true;
}

std::span<const float> spectrum_thread::take() noexcept {
    if (stage_.load(std::memory_order_acquire) != stage::ready) return {};
    stage_.store(stage::idle, std::memory_order_relaxed);
    return dbfs_;
}

void spectrum_thread::run() noexcept {
    os::may_be_late(true);
    for (auto now = stage_.load(std::memory_order_acquire); now != stage::over;
         now = stage_.load(std::memory_order_acquire)) {
        if (now != stage::working) {
            stage_.wait(now, std::memory_order_acquire);
            continue;
        }
        const bool good = spectrum_.work(slot_samples_copy_, dbfs_);
        stage_.compare_exchange_strong(now, good ? stage::ready : stage::idle,
                                       std::memory_order_release, std::memory_order_relaxed);
    }
}

}  // namespace wip
