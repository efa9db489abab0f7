// SPDX-License-Identifier: GPL-3.0-or-later
// The steps that have come and are not yet due, by their number: step s has one place for writer
// and reader. One writer (the main loop, from the serial line), one reader (the tick's interrupt),
// no lock: `received` is the writer's, `played` the reader's.
//
// The reader goes on in time whether steps are there or not, so `played` may be ahead of
// `received`; what then comes for times that are past is counted and left out, and the table stays
// on its time grid.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

namespace wip::attenuator {

inline constexpr std::size_t ring_bytes = 32768;
inline constexpr std::uint32_t no_end = 0xffffffff;

class step_ring {
public:
    // Empties the ring. Call only while the reader does not read.
    void reset(int nof_columns) {
        columns_ = static_cast<std::uint32_t>(nof_columns);
        capacity_ = static_cast<std::uint32_t>(ring_bytes) / columns_;
        late_ = 0;
        received_.store(0, std::memory_order_relaxed);
        played_.store(0, std::memory_order_relaxed);
        end_.store(no_end, std::memory_order_release);
    }

    // The writer.
    std::uint32_t columns() const { return columns_; }
    std::uint32_t received() const { return received_.load(std::memory_order_relaxed); }
    std::uint32_t late() const { return late_; }
    std::uint32_t free() const {
        const std::uint32_t written = received(), read = played();
        return written > read ? capacity_ - (written - read) : capacity_;
    }
    // Adds a step; there has to be room for it.
    void push(std::span<const std::uint8_t> levels) {
        const std::uint32_t step = received();
        if (step < played())
            ++late_;
        else
            std::copy_n(levels.begin(), columns_, place(step));
        received_.store(step + 1, std::memory_order_release);
    }
    void end_here() { end_.store(received(), std::memory_order_release); }
    bool ended() const { return end_.load(std::memory_order_relaxed) != no_end; }

    // The reader.
    std::uint32_t played() const { return played_.load(std::memory_order_acquire); }
    std::uint32_t end() const { return end_.load(std::memory_order_acquire); }
    // The levels of a step; empty: it has not been received.
    std::span<const std::uint8_t> at(std::uint32_t step) const {
        if (step >= received_.load(std::memory_order_acquire)) return {};
        return {place(step), columns_};
    }
    bool half_full() const {
        return received_.load(std::memory_order_acquire) - played() >= capacity_ / 2;
    }
    void played_up_to(std::uint32_t next) { played_.store(next, std::memory_order_release); }

private:
    std::uint8_t* place(std::uint32_t step) {
        return bytes_.data() + std::size_t{step % capacity_} * columns_;
    }
    const std::uint8_t* place(std::uint32_t step) const {
        return bytes_.data() + std::size_t{step % capacity_} * columns_;
    }

    std::array<std::uint8_t, ring_bytes> bytes_{};
    std::uint32_t columns_ = 1, capacity_ = ring_bytes, late_ = 0;
    std::atomic<std::uint32_t> received_{0}, played_{0}, end_{no_end};
};

}  // namespace wip::attenuator
