// SPDX-License-Identifier: GPL-3.0-or-later
// Messages from one process to another through memory that both have mapped: one writer, one
// reader, no lock.
//
// `written` and `taken` are positions that never wrap; a place in `data` is a position modulo its
// size. A message is a header and its bytes in one piece, aligned to 8; what does not fit before
// the end of `data` begins at its start, behind a `skip`. When the ring is empty the writer goes
// back to the start by the same means, so that in steady state the same few cache lines are used.
//
// `asleep` is set by a reader that is about to sleep, before it looks a last time; a writer that
// finds it set after it has published takes it back and has to ring. Both store, then load, with
// sequential consistency: one of them sees the other. A reader that waits for somebody else sleeps
// `for_urgent`: a message that can wait is left in the ring and does not wake it.
//
// Neither end trusts the other: each keeps its own position, and what the other end says is checked
// before it is used. The bytes are copied out before anybody reads their meaning.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

namespace wip::peer {

struct ring_memory {
    static constexpr std::size_t size = std::size_t{1} << 20;  // 300 slots of 256-QAM in 25 bins
    alignas(64) std::atomic<std::uint64_t> written;
    alignas(64) std::atomic<std::uint64_t> taken;
    alignas(64) std::atomic<std::uint32_t> asleep;
    alignas(64) std::byte data[size];
};
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

enum class ring_kind : std::uint32_t { message = 0, skip = 1, ping = 2, pong = 3 };

enum class sleep : std::uint32_t { awake = 0, for_any = 1, for_urgent = 2 };

struct ring_header {
    std::uint32_t bytes;
    ring_kind kind;
};

constexpr std::uint64_t ring_footprint(std::size_t bytes) {
    return sizeof(ring_header) + ((bytes + 7) & ~std::size_t{7});
}
// Largest message: several have to fit.
inline constexpr std::size_t largest_ring_message = ring_memory::size / 4;

class ring_writer {
public:
    explicit ring_writer(ring_memory& memory) noexcept
        : memory_(&memory), at_(memory.written.load(std::memory_order_relaxed)) {}

    // False: no room (or the reader claims what cannot be: no room either).
    bool write(ring_kind kind, std::span<const std::uint8_t> bytes) noexcept {
        if (bytes.size() > largest_ring_message) return false;
        const std::uint64_t taken = memory_->taken.load(std::memory_order_acquire);
        const std::uint64_t need = ring_footprint(bytes.size());
        std::uint64_t start = at_;
        const std::uint64_t place = at_ % ring_memory::size;
        const bool back = taken == at_ && place >= go_back && need <= go_back;
        if (back || place + need > ring_memory::size) start += ring_memory::size - place;
        if (at_ - taken > ring_memory::size || start + need - taken > ring_memory::size)
            return false;
        if (start != at_) put({0, ring_kind::skip}, at_);
        put({static_cast<std::uint32_t>(bytes.size()), kind}, start);
        if (!bytes.empty())
            std::memcpy(memory_->data + start % ring_memory::size + sizeof(ring_header),
                        bytes.data(), bytes.size());
        at_ = start + need;
        memory_->written.store(at_, std::memory_order_seq_cst);
        return true;
    }
    // Whether the reader sleeps, or is about to, and has to be woken; true once for each sleep.
    // Call after write().
    bool must_ring(bool can_wait = false) noexcept {
        const auto asleep = static_cast<sleep>(memory_->asleep.load(std::memory_order_seq_cst));
        if (asleep == sleep::awake || (can_wait && asleep == sleep::for_urgent)) return false;
        return memory_->asleep.exchange(0, std::memory_order_seq_cst) != 0;
    }
    // Position up to which the reader has taken; it moves when the reader lives.
    std::uint64_t taken() const noexcept { return memory_->taken.load(std::memory_order_relaxed); }

private:
    static constexpr std::uint64_t go_back = ring_memory::size / 16;

    void put(ring_header h, std::uint64_t at) noexcept {
        std::memcpy(memory_->data + at % ring_memory::size, &h, sizeof h);
    }
    ring_memory* memory_;
    std::uint64_t at_;
};

class ring_reader {
public:
    enum class outcome : std::uint8_t { nothing, got, damaged };

    explicit ring_reader(ring_memory& memory) noexcept
        : memory_(&memory), at_(memory.taken.load(std::memory_order_relaxed)) {}

    // The next one; `out` keeps its memory from call to call. Damaged: what the writer left is no
    // ring; nothing more can be read from it.
    outcome read(ring_kind& kind, std::vector<std::uint8_t>& out) {
        for (;;) {
            const std::uint64_t written = memory_->written.load(std::memory_order_acquire);
            const std::uint64_t there = written - at_;
            if (there == 0) return outcome::nothing;
            const std::uint64_t place = at_ % ring_memory::size;
            const std::uint64_t to_end = ring_memory::size - place;
            if (there > ring_memory::size || there < sizeof(ring_header) || place % 8 != 0)
                return outcome::damaged;
            ring_header h;
            std::memcpy(&h, memory_->data + place, sizeof h);
            if (h.kind == ring_kind::skip) {
                if (to_end > there) return outcome::damaged;
                advance(to_end);
                continue;
            }
            const std::uint64_t need = ring_footprint(h.bytes);
            if (h.bytes > largest_ring_message || need > there || need > to_end)
                return outcome::damaged;
            out.resize(h.bytes);
            if (h.bytes > 0) std::memcpy(out.data(), memory_->data + place + sizeof h, h.bytes);
            kind = h.kind;
            advance(need);
            return outcome::got;
        }
    }
    bool empty() const noexcept { return memory_->written.load(std::memory_order_seq_cst) == at_; }
    // True: sleep. False: something has come meanwhile.
    bool rest(sleep how = sleep::for_any) noexcept {
        memory_->asleep.store(static_cast<std::uint32_t>(how), std::memory_order_seq_cst);
        if (empty()) return true;
        rise();
        return false;
    }
    void rise() noexcept { memory_->asleep.store(0, std::memory_order_relaxed); }

private:
    void advance(std::uint64_t n) noexcept {
        at_ += n;
        memory_->taken.store(at_, std::memory_order_release);
    }
    ring_memory* memory_;
    std::uint64_t at_;
};

}  // namespace wip::peer
