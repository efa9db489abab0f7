// SPDX-License-Identifier: GPL-3.0-or-later
// Makes SNR predictors for a running receiver, and frees those that it has done with, in a thread
// of its own: both take memory and milliseconds, and the slot path has neither. The thread begins
// with the first order.
#pragma once

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

#include "phy/snr_predictor.h"

namespace wip {

class predictor_builder {
public:
    struct work {
        std::string method;
        int horizon = 0;
        std::unique_ptr<phy::snr_predictor> predictor;  // none: the order cannot be met
    };

    predictor_builder() = default;
    predictor_builder(const predictor_builder&) = delete;
    predictor_builder& operator=(const predictor_builder&) = delete;
    ~predictor_builder() {
        {
            const std::lock_guard lock(mutex_);
            over_ = true;
        }
        wake_.notify_one();
        if (thread_.joinable()) thread_.join();
    }

    // A later order takes the place of one that has not been begun.
    void order(std::string method, int horizon) {
        {
            const std::lock_guard lock(mutex_);
            order_ = work{std::move(method), horizon, nullptr};
        }
        if (!thread_.joinable()) thread_ = std::thread([this] { run(); });
        wake_.notify_one();
    }
    // Of the last order that was done; a glance when there is none.
    std::optional<work> take() {
        if (!ready_.load(std::memory_order_acquire)) return std::nullopt;
        const std::lock_guard lock(mutex_);
        ready_.store(false, std::memory_order_relaxed);
        return std::exchange(done_, std::nullopt);
    }
    void retire(std::unique_ptr<phy::snr_predictor> old) {
        const std::lock_guard lock(mutex_);
        retired_.swap(old);
        wake_.notify_one();
    }

private:
    void run() {
        std::unique_lock lock(mutex_);
        for (;;) {
            wake_.wait(lock, [this] { return over_ || order_ || retired_; });
            if (over_) return;
            auto old = std::move(retired_);
            auto job = std::exchange(order_, std::nullopt);
            lock.unlock();
            old.reset();
            if (job) {
                try {
                    job->predictor =
                        std::make_unique<phy::snr_predictor>(job->horizon, job->method);
                } catch (const std::invalid_argument&) {
                }
            }
            lock.lock();
            if (!job) continue;
            done_ = std::move(job);
            ready_.store(true, std::memory_order_release);
        }
    }

    std::mutex mutex_;
    std::condition_variable wake_;
    std::optional<work> order_, done_;
    std::unique_ptr<phy::snr_predictor> retired_;
    std::atomic<bool> ready_{false};
    bool over_ = false;
    std::thread thread_;
};

}  // namespace wip
