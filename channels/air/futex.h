// SPDX-License-Identifier: GPL-3.0-or-later
// Sleeps until a word in shared memory changes. The kernel compares the word with `seen` under its
// own lock, so a change between the caller's check and the sleep is never missed. The futex is not
// "private" (FUTEX_PRIVATE_FLAG), since the waker is in another process.
#pragma once

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <climits>
#include <cstdint>
#include <ctime>

namespace wip::air {

using futex_word = std::atomic<std::uint32_t>;
static_assert(sizeof(futex_word) == 4 && futex_word::is_always_lock_free);

inline void futex_wait(futex_word& word, std::uint32_t seen, std::chrono::nanoseconds timeout) {
    if (timeout.count() <= 0) return;
    const timespec ts{static_cast<time_t>(timeout.count() / 1'000'000'000),
                      static_cast<long>(timeout.count() % 1'000'000'000)};
    syscall(SYS_futex, &word, FUTEX_WAIT, seen, &ts, nullptr, 0);
}

inline void futex_wake(futex_word& word) {
    word.fetch_add(1, std::memory_order_seq_cst);
    syscall(SYS_futex, &word, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

// One side waits for a condition that the other makes true; the waker pays for a system call only
// when somebody waits. wait(): announce, check again, sleep. The check after the announcement and
// the fence in notify() close the gap (store buffering: both sides use seq_cst).
struct alignas(64) gate {
    futex_word word{0};
    std::atomic<std::uint32_t> waiting{0};

    template <class Ready>
    bool wait(Ready ready, std::chrono::nanoseconds timeout) {
        if (ready()) return true;
        const std::uint32_t seen = word.load(std::memory_order_acquire);
        waiting.fetch_add(1, std::memory_order_seq_cst);  // several threads may wait
        std::atomic_thread_fence(std::memory_order_seq_cst);
        if (!ready()) futex_wait(word, seen, timeout);
        waiting.fetch_sub(1, std::memory_order_seq_cst);
        return ready();
    }
    void notify() {
        std::atomic_thread_fence(std::memory_order_seq_cst);
        if (waiting.load(std::memory_order_seq_cst)) futex_wake(word);
    }
    void wake() { futex_wake(word); }
};

}  // namespace wip::air
