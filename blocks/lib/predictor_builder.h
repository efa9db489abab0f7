// SPDX-License-Identifier: GPL-3.0-or-later
// Makes SNR predictors for a running receiver, and frees those that it no longer uses, in a thread
// of its own: both allocate and take milliseconds, which the slot path must not. The thread begins
// with the first order.
#pragma once

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "os/late_thread.h"
#include "phy/prediction/snr_predictor.h"

namespace wip {

class predictor_builder {
public:
    explicit predictor_builder(phy::gain_predictor_maker make = phy::make_gain_predictor)
        : make_(std::move(make)) {}
    predictor_builder(const predictor_builder&) = delete;
    predictor_builder& operator=(const predictor_builder&) = delete;
    ~predictor_builder() {
        {
            const std::lock_guard lock(mutex_);
            stop_ = true;
        }
        wake_.notify_one();
        if (thread_.joinable()) thread_.join();
    }

    // Orders a predictor, which has to be available(). A later order replaces one that has not been
    // taken.
    void order(phy::predictor_choice wanted) {
        {
            const std::lock_guard lock(mutex_);
            order_ = std::move(wanted);
        }
        if (!thread_.joinable()) thread_ = std::thread([this] { run(); });
        wake_.notify_one();
    }
    // Returns the predictor of the last order once, when it is complete; else nullptr. Does not
    // wait for the thread, which may be late.
    std::unique_ptr<phy::snr_predictor> take() {
        if (!ready_.load(std::memory_order_acquire)) return nullptr;
        const std::unique_lock lock(mutex_, std::try_to_lock);
        if (!lock) return nullptr;
        ready_.store(false, std::memory_order_relaxed);
        return std::move(finished_);
    }
    // Frees a predictor in the thread.
    void retire(std::unique_ptr<phy::snr_predictor> old) {
        const std::lock_guard lock(mutex_);
        retired_.swap(old);
        wake_.notify_one();
    }

private:
    void run() {
        os::may_be_late(true);
        std::unique_lock lock(mutex_);
        for (;;) {
            wake_.wait(lock, [this] { return stop_ || order_ || retired_; });
            if (stop_) return;
            auto old = std::move(retired_);
            auto job = std::exchange(order_, std::nullopt);
            lock.unlock();
            old.reset();
            std::unique_ptr<phy::snr_predictor> made;
            if (job) made = std::make_unique<phy::snr_predictor>(job->horizon, job->method, make_);
            lock.lock();
            if (!made) continue;
            finished_ = std::move(made);
            ready_.store(true, std::memory_order_release);
        }
    }

    const phy::gain_predictor_maker make_;
    std::mutex mutex_;
    std::condition_variable wake_;
    std::optional<phy::predictor_choice> order_;
    std::unique_ptr<phy::snr_predictor> finished_, retired_;
    std::atomic<bool> ready_{false};
    bool stop_ = false;
    std::thread thread_;
};

}  // namespace wip
