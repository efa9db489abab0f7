// SPDX-License-Identifier: GPL-3.0-or-later
// The slot link of a block. work() uses it, holding hold(); end_reason() is called by another
// thread and checks the link itself, which matters when work() is not called because no samples
// move.
#pragma once

#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "slot_link.h"

namespace wip {

class block_link {
public:
    // Called once when the link has ended, with its reason, by the thread that noticed it.
    using on_end_fn = std::function<void(const std::string& reason)>;

    // An empty endpoint: no link. Throws std::invalid_argument.
    block_link(const slot_link_config& config, on_end_fn on_end) : on_end_(std::move(on_end)) {
        if (!config.endpoint.empty()) link_.emplace(config);
    }

    std::unique_lock<std::mutex> hold() { return std::unique_lock(busy_); }
    // All functions below but end_reason() may be called only while hold() is held.
    explicit operator bool() const { return link_.has_value(); }
    slot_link* operator->() { return &*link_; }
    // Ends the block for a reason of its own, with a link or without.
    void end(const std::string& reason) {
        {
            const std::lock_guard lock(mutex_);
            if (!end_reason_.empty()) return;
            end_reason_ = reason;
        }
        was_ended_here_ = true;
        on_end_(reason);
    }
    // True when there is a link and it has ended, or end() was called.
    bool ended() {
        if (was_ended_here_) return true;
        if (!link_ || !link_->ended()) return false;
        std::unique_lock lock(mutex_);
        if (!end_reason_.empty()) return true;
        end_reason_ = link_->end_reason();
        lock.unlock();
        on_end_(link_->end_reason());
        return true;
    }

    std::string end_reason() {
        if (std::unique_lock holding(busy_, std::try_to_lock); holding && link_) {
            link_->poll();
            ended();
        }
        std::lock_guard lock(mutex_);
        return end_reason_;
    }

private:
    std::mutex busy_;
    std::optional<slot_link> link_;
    on_end_fn on_end_;
    std::mutex mutex_;  // end_reason_
    std::string end_reason_;
    bool was_ended_here_ = false;  // by end(), not by the link
};

}  // namespace wip
