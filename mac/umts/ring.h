// SPDX-License-Identifier: GPL-3.0-or-later
// A queue whose elements are used again with what they hold: once it is as long as it gets, nothing
// is allocated.
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace wip::umts {

template <class T>
class ring {
public:
    // Adds an element at the end. It has the value that some popped element had.
    T& push() {
        if (count_ == slots_.size()) grow();
        ++count_;
        return back();
    }
    void pop() {
        front_ = (front_ + 1) % slots_.size();
        --count_;
    }
    void clear() { count_ = 0; }
    bool empty() const { return count_ == 0; }
    std::size_t size() const { return count_; }
    T& operator[](std::size_t i) { return slots_[(front_ + i) % slots_.size()]; }
    const T& operator[](std::size_t i) const { return slots_[(front_ + i) % slots_.size()]; }
    T& front() { return (*this)[0]; }
    const T& front() const { return (*this)[0]; }
    T& back() { return (*this)[count_ - 1]; }

private:
    void grow() {
        std::vector<T> more(std::max<std::size_t>(16, 2 * slots_.size()));
        for (std::size_t i = 0; i < count_; ++i) more[i] = std::move((*this)[i]);
        slots_ = std::move(more);
        front_ = 0;
    }

    std::vector<T> slots_;
    std::size_t front_ = 0, count_ = 0;
};

}  // namespace wip::umts
