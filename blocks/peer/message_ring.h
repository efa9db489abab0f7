// SPDX-License-Identifier: GPL-3.0-or-later
// Messages from one process to another through memory that both have mapped: one writer, one
// reader, no lock.
//
// `written` and `taken` are positions that never wrap; the offset in `data` is the position modulo
// its size. A message is a header and its bytes in one piece, aligned to 8; a message that does not
// fit before the end of `data` begins at its start, after a `skip`. When the ring is empty the
// writer goes back to the start by the same means, so that in steady state the same few cache lines
// are used.
//
// `asleep` is set by a reader that is about to sleep, before it looks a last time; a writer that
// finds it set after it has published a message clears it and has to wake the reader. Both store,
// then load, with sequential consistency: one of them sees the other. A reader that waits for
// another process sleeps `for_urgent`: a message that can wait stays in the ring and does not wake
// it.
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
        : memory_(&memory), position_(memory.written.load(std::memory_order_relaxed)) {}

    // False: there is no room, or the position that the reader claims is impossible.
    bool write(ring_kind kind, std::span<const std::uint8_t> bytes) noexcept {
        if (bytes.size() > largest_ring_message) return false;
        const std::uint64_t taken = memory_->taken.load(std::memory_order_acquire);
        const std::uint64_t need = ring_footprint(bytes.size());
        std::uint64_t start = position_;
        const std::uint64_t offset = position_ % ring_memory::size;
        const bool rewinds = taken == position_ && offset >= rewind_offset && need <= rewind_offset;
        if (rewinds || offset + need > ring_memory::size) start += ring_memory::size - offset;
        if (position_ - taken > ring_memory::size || start + need - taken > ring_memory::size)
            return false;
        if (start != position_) put({0, ring_kind::skip}, position_);
        put({static_cast<std::uint32_t>(bytes.size()), kind}, start);
        if (!bytes.empty())
            std::memcpy(memory_->data + start % ring_memory::size + sizeof(ring_header),
                        bytes.data(), bytes.size());
        position_ = start + need;
        memory_->written.store(position_, std::memory_order_seq_cst);
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
    // An empty ring is used from its start again when the writer is beyond this.
    static constexpr std::uint64_t rewind_offset = ring_memory::size / 16;

    void put(ring_header h, std::uint64_t at) noexcept {
        std::memcpy(memory_->data + at % ring_memory::size, &h, sizeof h);
    }
    ring_memory* memory_;
    std::uint64_t position_;
};

class ring_reader {
public:
    enum class outcome : std::uint8_t { nothing, got, damaged };

    explicit ring_reader(ring_memory& memory) noexcept
        : memory_(&memory), position_(memory.taken.load(std::memory_order_relaxed)) {}

    // Reads the next message; `out` keeps its memory from call to call. Damaged: the content of the
    // memory is not a valid ring, and nothing more can be read from it.
    outcome read(ring_kind& kind, std::vector<std::uint8_t>& out) {
        for (;;) {
            const std::uint64_t written = memory_->written.load(std::memory_order_acquire);
            const std::uint64_t available = written - position_;
            if (available == 0) return outcome::nothing;
            const std::uint64_t offset = position_ % ring_memory::size;
            const std::uint64_t to_end = ring_memory::size - offset;
            if (available > ring_memory::size || available < sizeof(ring_header) || offset % 8 != 0)
                return outcome::damaged;
            ring_header h;
            std::memcpy(&h, memory_->data + offset, sizeof h);
            if (h.kind == ring_kind::skip) {
                if (to_end > available) return outcome::damaged;
                advance(to_end);
                continue;
            }
            const std::uint64_t need = ring_footprint(h.bytes);
            if (h.bytes > largest_ring_message || need > available || need > to_end)
                return outcome::damaged;
            out.resize(h.bytes);
            if (h.bytes > 0) std::memcpy(out.data(), memory_->data + offset + sizeof h, h.bytes);
            kind = h.kind;
            advance(need);
            return outcome::got;
        }
    }
    bool empty() const noexcept {
        return memory_->written.load(std::memory_order_seq_cst) == position_;
    }
    // Announces that the reader is about to sleep. True: it may sleep. False: a message has come
    // meanwhile.
    bool rest(sleep how = sleep::for_any) noexcept {
        memory_->asleep.store(static_cast<std::uint32_t>(how), std::memory_order_seq_cst);
        if (empty()) return true;
        rise();
        return false;
    }
    // The reader is awake again.
    void rise() noexcept { memory_->asleep.store(0, std::memory_order_relaxed); }

private:
    void advance(std::uint64_t n) noexcept {
        position_ += n;
        memory_->taken.store(position_, std::memory_order_release);
    }
    ring_memory* memory_;
    std::uint64_t position_;
};

}  // namespace wip::peer
