// SPDX-License-Identifier: GPL-3.0-or-later
// Changes of a mixer while it runs: any thread requests them, and the mixing thread makes them all
// at the first slot boundary that it has not computed.
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

// A change of one path and of the receiver at its end.
struct mixer_change {
    std::size_t path = 0;
    mixer::prepared_path channel{};      // null: the channel stays
    bool level_only = false;             // the channel differs in its level only
    std::optional<double> noise_dbfs{};  // nullopt: it stays; only for a receiver that has noise
    struct blackout {
        double loss_db = 0;   // 0: none
        tick length = never;  // ticks; never: until the next change
    };
    std::optional<blackout> dark{};
};

using mixer_changes = std::vector<mixer_change>;

class change_door {
public:
    // One thread at a time: requests a change and waits until the mixing thread, which `wake`
    // wakes, has taken it. Returns the tick from which it holds; nullopt: it was not taken within
    // two seconds, and nothing has changed.
    template <class Wake>
    std::optional<tick> ask(mixer_changes c, Wake wake) {
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

    // Makes the changes; called by the thread that mixes. `earliest`: first sample that has not
    // been computed. `paths`: those of the mixer's configuration.
    void serve(mixer& m, const std::vector<path_config>& paths, tick earliest) {
        if (!waits()) return;
        const std::lock_guard lock(mutex_);
        if (!change_) return;
        tick from = earliest;
        for (const mixer_change& c : *change_)
            if (c.channel) from = std::max(from, m.settled(c.path, paths[c.path].to));
        from = (from + slot_samples - 1) / slot_samples * slot_samples;
        for (mixer_change& c : *change_) {
            const std::size_t receiver = paths[c.path].to;
            if (c.channel) m.replace(c.path, receiver, std::move(c.channel), from, c.level_only);
            if (c.noise_dbfs) m.set_noise(receiver, dbfs(*c.noise_dbfs), from);
            if (c.dark)
                m.set_blackout(receiver, db(c.dark->loss_db), from,
                               c.dark->length == never ? never : from + c.dark->length);
        }
        from_ = from;  // the thread that requested them frees their memory
        waits_.store(false, std::memory_order_relaxed);
        taken_.notify_one();
    }

private:
    std::mutex mutex_;
    std::condition_variable taken_;
    std::optional<mixer_changes> change_;  // the request
    std::optional<tick> from_;             // tick from which the last change that was taken holds
    std::atomic<bool> waits_{false};
};

}  // namespace wip::mix
