// SPDX-License-Identifier: GPL-3.0-or-later
// The last samples that a radio has received, for a mixer: a ring indexed by sample time. Lost
// samples are zero.
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
        held_.clear();
        end_ = time, begun_ = true;
    }
    // Writes samples from `time` on. Missing samples before them become zero; samples that are
    // there already stay as they are. Returns how many were missing. If they are more than half a
    // ring, they and `x` are held for catch_up(), since samples that are not mixed yet would be
    // overwritten.
    tick write(tick time, std::span<const cf32> x) {
        const tick missing = std::max<tick>(0, time - end_);
        if (missing > static_cast<tick>(ring_.size() / 2)) {
            held_time_ = time, held_.assign(x.begin(), x.end());
            return missing;
        }
        append_zeros(missing);
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
    // Fills in missing samples before the held ones, up to `until`, and then the held ones. Returns
    // false if none are held.
    bool catch_up(tick until) {
        if (held_.empty()) return false;
        append_zeros(std::min(until, held_time_) - end_);
        if (end_ == held_time_) write(end_, std::exchange(held_, {}));
        return true;
    }
    // Samples before this tick are known.
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
    void append_zeros(tick n) {
        if (n >= static_cast<tick>(ring_.size()))
            std::fill(ring_.begin(), ring_.end(), cf32{}), end_ += n;
        else
            for (tick i = 0; i < n; ++i) ring_[index(end_++)] = cf32{};
    }

    std::vector<cf32> ring_, held_;
    tick end_ = 0, held_time_ = 0;
    bool begun_ = false;
};

}  // namespace wip::cabled
