// SPDX-License-Identifier: GPL-3.0-or-later
// The random streams of one run, each by (seed, purpose), are different ones. A key
// (counter_random.h) has 32 bits: of n streams two have the same one, and so the same numbers, with
// probability n^2 / 2^33. A delay line of 23 taps has 46 streams: one seed in four million. Longer
// keys would change the numbers of every run that was ever published; so a program that makes a run
// has one of these while it does, and the second of two such streams is refused. All other runs
// keep their numbers. Streams of different runs may share a key: runs are repeated with other
// seeds, and no run is compared with itself.
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

    // One at a time in a process.
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
