// SPDX-License-Identifier: GPL-3.0-or-later
// Spectra of the samples that a block receives, for observers, made by a thread of its own: now and
// then the block copies the samples of one slot, and takes the spectrum some slots later. It never
// waits; a spectrum that is not ready in time is skipped. There is one buffer, and `stage` tells
// who owns it:
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

    // A spectrum is begun so many slots before it is wanted, and at least so many slots after the
    // last one.
    static constexpr std::int64_t slots_ahead = 15, least_distance = 50;

    spectrum_thread();
    ~spectrum_thread();
    spectrum_thread(const spectrum_thread&) = delete;
    spectrum_thread& operator=(const spectrum_thread&) = delete;

    // Call once in each slot. A spectrum is wanted in slots that `every` divides; 0: none is.
    void on_slot(std::int64_t air, std::int64_t every) noexcept;
    // Takes all samples, in order. After a jump of their time the copy of a slot begins anew. True:
    // the samples were copied.
    bool samples(sample first, std::span<const cf32> in) noexcept;
    // Returns each spectrum once, power_spectrum::nof_points values that are valid until the next
    // call of any function; empty: there is no new one.
    std::span<const float> take() noexcept;

private:
    enum class stage : int { idle, filling, working, ready, over };
    void run() noexcept;

    iq::power_spectrum spectrum_;
    std::vector<cf32> slot_samples_copy_;
    std::size_t filled_ = 0;
    sample expected_;
    std::array<float, iq::power_spectrum::nof_points> dbfs_{};
    std::int64_t slots_since_ = least_distance;
    std::atomic<stage> stage_{stage::idle};
    std::thread thread_;
};

}  // namespace wip
