// SPDX-License-Identifier: GPL-3.0-or-later
// Samples and slot reports of a running block to two files, written by a thread of its own. The
// radio's thread copies into queues that were allocated before and never waits: what has no room
// (the disk cannot follow) is lost to the recording, counted, and seen as a jump of the sample
// time.
//
//   samples file  cf32, as they came, one piece after the other
//   reports file  "OWSLOTS1", then for each report its length (uint32, little endian) and bytes
//
// Where the sample time jumps, if only by a part of a sample, a stretch begins: at the beginning,
// after samples that the radio lost (a gap of the radio) and after samples that this class lost.
// Threads: samples() and report() by the block, under its lock; finish() by another one when the
// block no longer calls.
#pragma once

#include <atomic>
#include <complex>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "iq/recording.h"
#include "types/grid.h"

namespace wip::iq {

struct sample_recorder_config {
    std::string samples_file = {};  // empty: no samples
    std::string reports_file = {};  // empty: no reports
    sample begin = sample(std::numeric_limits<std::int64_t>::min());
    // first sample that is not recorded
    sample end = sample(std::numeric_limits<std::int64_t>::max());
    sample_count most = sample_count(0);               // samples from the first one on; 0: all
    std::size_t queue_samples = std::size_t{1} << 23;  // 1.1 s
    std::size_t queue_bytes = std::size_t{1} << 23;    // bytes of the reports' queue
};

class sample_recorder {
public:
    using cf32 = std::complex<float>;

    // Creates the files. Throws bad_input naming the file.
    explicit sample_recorder(const sample_recorder_config& config);
    ~sample_recorder();
    sample_recorder(const sample_recorder&) = delete;
    sample_recorder& operator=(const sample_recorder&) = delete;

    // `later`: by what part of a sample they were taken later than their numbers say.
    void samples(sample first, std::span<const cf32> in, double later = 0) noexcept;
    // One serialised report, of the slot that starts at `start`.
    void report(sample start, std::span<const std::uint8_t> message) noexcept;
    // The end was reached: nothing more will be recorded.
    bool complete() const noexcept { return complete_.load(std::memory_order_relaxed); }
    std::int64_t samples_so_far() const noexcept { return taken_.load(std::memory_order_relaxed); }

    recording finish();

private:
    // Bytes from one thread to another; positions count up and never wrap.
    struct byte_queue {
        std::vector<std::uint8_t> store;
        std::atomic<std::uint64_t> written{0};
        std::atomic<std::uint64_t> read{0};
        int fd = -1;

        std::size_t room() const noexcept;
        void put(std::span<const std::uint8_t> bytes) noexcept;  // needs room; not yet visible
        std::uint64_t position = 0;                              // position of the writer
    };
    void wake() noexcept;
    void run() noexcept;
    bool drain(byte_queue& queue) noexcept;  // true: there was something

    const sample_recorder_config config_;
    sample end_;  // end of config_, or what follows from `most`
    byte_queue sample_queue_;
    byte_queue report_queue_;
    recording facts_;
    sample expected_;
    double later_ = 0;
    bool begun_ = false;
    bool lost_ = false;  // since the last sample that was accepted
    std::atomic<std::int64_t> taken_{0};
    std::atomic<bool> complete_{false};
    std::atomic<bool> failed_{false};
    std::atomic<bool> over_{false};
    std::atomic<std::uint32_t> news_{0};
    std::string disk_error_;  // set by run()
    std::thread thread_;
};

}  // namespace wip::iq
