// SPDX-License-Identifier: GPL-3.0-or-later
// Samples in the order of their slots, as many as fit: the oldest leave first. Publishers are not
// in step with one another, so a sample may come a little late and is put in its place. T has a
// member `slot`.
#pragma once

#include <algorithm>
#include <cstddef>
#include <deque>
#include <iterator>
#include <utility>

namespace wip::gui {

template <typename T>
class slot_ring {
public:
    using iterator = typename std::deque<T>::const_iterator;
    struct range {
        iterator first, last;
        iterator begin() const { return first; }
        iterator end() const { return last; }
        bool empty() const { return first == last; }
        std::size_t size() const { return static_cast<std::size_t>(last - first); }
    };

    explicit slot_ring(std::size_t capacity) : capacity_(capacity) {}

    void push(T value) {
        auto at = items_.end();
        while (at != items_.begin() && std::prev(at)->slot > value.slot) --at;
        items_.insert(at, std::move(value));
        if (items_.size() > capacity_) items_.pop_front();
    }
    // The sample of exactly this slot; it is made if there is none.
    T& at_slot(decltype(T::slot) slot) {
        auto at = items_.end();
        while (at != items_.begin() && std::prev(at)->slot > slot) --at;
        if (at != items_.begin() && std::prev(at)->slot == slot) return *std::prev(at);
        if (items_.size() >= capacity_ && at != items_.begin()) {
            const auto index = at - items_.begin() - 1;
            items_.pop_front();
            at = items_.begin() + index;
        }
        at = items_.insert(at, T{});
        at->slot = slot;
        return *at;
    }
    // Slots in [from, to].
    range between(double from, double to) const {
        const auto first =
            std::ranges::lower_bound(items_, from, {}, [](const T& t) { return double(t.slot); });
        const auto last =
            std::ranges::upper_bound(items_, to, {}, [](const T& t) { return double(t.slot); });
        return {first, first > last ? first : last};
    }
    // The last one at or before `slot`; nullptr: none.
    const T* last_before(double slot) const {
        const auto after =
            std::ranges::upper_bound(items_, slot, {}, [](const T& t) { return double(t.slot); });
        return after == items_.begin() ? nullptr : &*std::prev(after);
    }

    // A smaller one drops the oldest.
    void set_capacity(std::size_t capacity) {
        capacity_ = capacity;
        while (items_.size() > capacity_) items_.pop_front();
    }
    bool empty() const { return items_.empty(); }
    std::size_t size() const { return items_.size(); }
    std::size_t capacity() const { return capacity_; }
    const T& front() const { return items_.front(); }
    const T& back() const { return items_.back(); }
    iterator begin() const { return items_.begin(); }
    iterator end() const { return items_.end(); }
    void clear() { items_.clear(); }

private:
    std::size_t capacity_;
    std::deque<T> items_;
};

}  // namespace wip::gui
