// SPDX-License-Identifier: GPL-3.0-or-later
// Checks that no two random streams of one run, each named by (seed, purpose), have the same key. A
// key (counter_random.h) has 32 bits: among n streams two have the same key, and so the same
// numbers, with probability n^2 / 2^33. A delay line of 23 taps has 46 streams: one seed in four
// million. Longer keys would change the numbers of every published run. So a program has an object
// of this class during a run, and the second of two streams with one key is refused; all other runs
// keep their numbers. Streams of different runs may share a key, since runs are repeated with other
// seeds.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <unordered_map>

namespace wip::sample_model {

class distinct_streams {
public:
    struct stream {
        std::uint64_t seed;
        std::uint32_t purpose;
        bool operator==(const stream&) const = default;
    };

    // At most one object at a time in a process.
    distinct_streams() { watching_.store(this); }
    ~distinct_streams() { watching_.store(nullptr); }
    distinct_streams(const distinct_streams&) = delete;
    distinct_streams& operator=(const distinct_streams&) = delete;

    // Any thread may call it. Throws bad_input when another stream has the key.
    static void check(const stream& s, std::uint32_t key) {
        if (distinct_streams* const run = watching_.load()) run->add(s, key);
    }

private:
    void add(const stream& s, std::uint32_t key);

    static inline std::atomic<distinct_streams*> watching_{nullptr};
    std::mutex mutex_;
    std::unordered_map<std::uint32_t, stream> streams_;
};

}  // namespace wip::sample_model
