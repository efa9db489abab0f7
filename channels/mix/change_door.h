// SPDX-License-Identifier: GPL-3.0-or-later
// A change of a mixer while it runs: asked for by any thread, taken by the one that mixes at the
// first border of a slot that it has not computed.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "mix/mixer.h"
#include "types/grid.h"

namespace wip::mix {

// Of one path and of the receiver at its end.
struct mixer_change {
    std::size_t path = 0;
    mixer::prepared_path channel{};      // none: it stays
    bool alike = false;                  // the channel differs in its level only
    std::optional<double> noise_dbfs{};  // of a receiver that has noise
    struct blackout {
        double loss_db = 0;   // 0: none
        tick length = never;  // never: until the next change
    };
    std::optional<blackout> dark{};
};

class change_door {
public:
    // One thread at a time: waits until it was taken, `wake` tells the one that mixes. From when it
    // holds; nothing: nobody has taken it within two seconds, and nothing has changed.
    template <class Wake>
    std::optional<tick> ask(mixer_change c, Wake wake) {
        std::unique_lock lock(mutex_);
        change_ = std::move(c);
        from_.reset();
        waits_.store(true);
        wake();
        taken_.wait_for(lock, std::chrono::seconds(2), [this] { return from_.has_value(); });
        waits_.store(false);
        change_.reset();
        return from_;
    }
    bool waits() const noexcept { return waits_.load(std::memory_order_acquire); }

    // By the one that mixes: `earliest` has not been computed. Paths as the mixer was made with.
    void serve(mixer& m, const std::vector<path_config>& paths, tick earliest) {
        if (!waits()) return;
        const std::lock_guard lock(mutex_);
        if (!change_) return;
        const std::size_t path = change_->path, receiver = paths[path].to;
        tick from = earliest;
        if (change_->channel) from = std::max(from, m.settled(path, receiver));
        from = (from + slot_samples - 1) / slot_samples * slot_samples;
        if (change_->channel)
            m.replace(path, receiver, std::move(change_->channel), from, change_->alike);
        if (change_->noise_dbfs) m.set_noise(receiver, dbfs(*change_->noise_dbfs), from);
        if (change_->dark) {
            const tick length = change_->dark->length;
            m.set_blackout(receiver, db(change_->dark->loss_db), from,
                           length == never ? never : from + length);
        }
        from_ = from;
        change_.reset();
        waits_.store(false, std::memory_order_relaxed);
        taken_.notify_one();
    }

private:
    std::mutex mutex_;
    std::condition_variable taken_;
    std::optional<mixer_change> change_;  // asked for, not taken
    std::optional<tick> from_;            // of the last one taken
    std::atomic<bool> waits_{false};
};

}  // namespace wip::mix
