// SPDX-License-Identifier: GPL-3.0-or-later
// Elements addressed by an ever growing number: a window [first, end) over a ring of a power of two
// elements. It grows when the window outgrows it (elements keep their numbers) and never shrinks,
// so a link in its steady state allocates nothing.
#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace wip {

template <class T>
class sn_ring {
public:
    explicit sn_ring(std::size_t capacity = 256, std::int64_t first = 0)
        : elements_(capacity), first_(first), end_(first) {}

    std::int64_t first() const { return first_; }
    std::int64_t end() const { return end_; }
    std::size_t size() const { return static_cast<std::size_t>(end_ - first_); }
    bool holds(std::int64_t n) const { return n >= first_ && n < end_; }

    T& operator[](std::int64_t n) {
        assert(holds(n));
        return elements_[static_cast<std::size_t>(n) & (elements_.size() - 1)];
    }
    const T& operator[](std::int64_t n) const {
        assert(holds(n));
        return elements_[static_cast<std::size_t>(n) & (elements_.size() - 1)];
    }

    // A fresh element with the number end().
    T& push() {
        if (size() == elements_.size()) grow();
        T& e = elements_[static_cast<std::size_t>(end_++) & (elements_.size() - 1)];
        e = T{};
        return e;
    }
    void pop() {
        assert(first_ < end_);
        ++first_;
    }
    // Empties the window and moves it to `first`.
    void restart(std::int64_t first) { first_ = end_ = first; }

private:
    void grow() {
        std::vector<T> larger(elements_.size() * 2);
        for (std::int64_t n = first_; n < end_; ++n)
            larger[static_cast<std::size_t>(n) & (larger.size() - 1)] =
                std::move(elements_[static_cast<std::size_t>(n) & (elements_.size() - 1)]);
        elements_ = std::move(larger);
    }

    std::vector<T> elements_;  // a power of two of them
    std::int64_t first_, end_;
};

}  // namespace wip
