// SPDX-License-Identifier: GPL-3.0-or-later
// The last samples that a radio has received, for a mixer: a ring by sample time. What was lost is
// zero.
#pragma once

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "mix/sample_source.h"

namespace wip::cabled {

using mix::cf32;
using mix::never;
using mix::tick;

class received_samples final : public mix::sample_source {
public:
    // `size`, a power of two: samples that are kept.
    explicit received_samples(std::size_t size) : ring_(size) {}

    // Begins the stream: all samples before `time` are zero.
    void begin(tick time) {
        std::fill(ring_.begin(), ring_.end(), cf32{});
        ahead_.clear();
        end_ = time, begun_ = true;
    }
    // Samples from `time` on. What is missing before them becomes zero, what is there already stays
    // as it is. How many were missing: more than half a ring wait, with the samples, for
    // catch_up(), or what is not mixed yet would be lost.
    tick write(tick time, std::span<const cf32> x) {
        const tick missing = std::max<tick>(0, time - end_);
        if (missing > static_cast<tick>(ring_.size() / 2)) {
            ahead_time_ = time, ahead_.assign(x.begin(), x.end());
            return missing;
        }
        pass(missing);
        const std::size_t again =
            static_cast<std::size_t>(std::clamp<tick>(end_ - time, 0, static_cast<tick>(x.size())));
        for (auto left = x.subspan(again); !left.empty();) {
            const auto part = left.first(std::min(left.size(), ring_.size() - index(end_)));
            std::copy(part.begin(), part.end(), &ring_[index(end_)]);
            end_ += static_cast<tick>(part.size());
            left = left.subspan(part.size());
        }
        return missing;
    }
    // Fills in the samples that are missing before those that have come, up to `until`. False:
    // there are none.
    bool catch_up(tick until) {
        if (ahead_.empty()) return false;
        pass(std::min(until, ahead_time_) - end_);
        if (end_ == ahead_time_) write(end_, std::exchange(ahead_, {}));
        return true;
    }
    // The time up to which it is known.
    tick end() const noexcept { return end_; }

    bool active() const noexcept override { return begun_; }
    bool read(tick from, std::span<cf32> out) const noexcept override {
        const tick end = from + static_cast<tick>(out.size());
        const tick first = std::clamp(end_ - static_cast<tick>(ring_.size()), from, end);
        const tick last = std::clamp(end_, first, end);
        const auto at = [&](tick t) { return out.begin() + (t - from); };
        std::fill(out.begin(), at(first), cf32{});
        for (tick t = first; t < last;) {
            const tick n = std::min(last - t, static_cast<tick>(ring_.size() - index(t)));
            std::copy_n(&ring_[index(t)], n, at(t));
            t += n;
        }
        std::fill(at(last), out.end(), cf32{});
        return begun_;
    }

private:
    std::size_t index(tick t) const noexcept {
        return static_cast<std::size_t>(t) & (ring_.size() - 1);
    }
    void pass(tick n) {
        if (n >= static_cast<tick>(ring_.size()))
            std::fill(ring_.begin(), ring_.end(), cf32{}), end_ += n;
        else
            for (tick i = 0; i < n; ++i) ring_[index(end_++)] = cf32{};
    }

    std::vector<cf32> ring_, ahead_;
    tick end_ = 0, ahead_time_ = 0;
    bool begun_ = false;
};

}  // namespace wip::cabled
