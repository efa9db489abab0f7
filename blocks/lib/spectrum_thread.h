// SPDX-License-Identifier: GPL-3.0-or-later
// Spectra of what a block receives, for those who watch, made by a thread of its own: the block
// copies the samples of one slot now and then, goes on, and takes what was made some slots later.
// It never waits; what is not ready in time is left out. There is one buffer, and `stage` says
// whose it is:
//
//   idle -> filling (the block's) -> working (the thread's) -> ready (the block's) -> idle
//
// Threads: all functions by the block.
#pragma once

#include <array>
#include <atomic>
#include <complex>
#include <cstdint>
#include <span>
#include <thread>
#include <vector>

#include "iq/power_spectrum.h"
#include "types/grid.h"

namespace wip {

class spectrum_thread {
public:
    using cf32 = std::complex<float>;

    // Spectra are begun so many slots before they are wanted, and no more often than that.
    static constexpr std::int64_t slots_ahead = 15, least_apart = 50;

    spectrum_thread();
    ~spectrum_thread();
    spectrum_thread(const spectrum_thread&) = delete;
    spectrum_thread& operator=(const spectrum_thread&) = delete;

    // Call once in each slot. A spectrum is wanted in slots that `every` divides; 0: none is.
    void on_slot(std::int64_t air, std::int64_t every) noexcept;
    // Takes all samples, in order. A jump of their time begins the stretch anew. True: they were
    // needed.
    bool samples(sample first, std::span<const cf32> in) noexcept;
    // Returns each spectrum once, power_spectrum::nof_points values that are valid until the next
    // call of any function; empty: there is no new one.
    std::span<const float> take() noexcept;

private:
    enum class stage : int { idle, filling, working, ready, over };
    void run() noexcept;

    iq::power_spectrum spectrum_;
    std::vector<cf32> stretch_;
    std::size_t filled_ = 0;
    sample expected_;
    std::array<float, iq::power_spectrum::nof_points> dbfs_{};
    std::int64_t slots_since_ = least_apart;
    std::atomic<stage> stage_{stage::idle};
    std::thread thread_;
};

}  // namespace wip
