// SPDX-License-Identifier: GPL-3.0-or-later
// The burst of the soundings and its receiver: a Zadoff-Chu sequence of 512 samples (flat spectrum,
// -15 dBFS), six times.
//
// A base station sends it eight times before its first slot, 8 to 12 ms apart, with different
// distances, so that a receiver of some of them can tell which they are. After radios its time,
// level and carrier are unknown: it is found by its periodicity. It gives the channel's response
// without the mean delay, one value for each 150 kHz, and the carrier offset up to a multiple of 15
// kHz.
#pragma once

#include <array>
#include <complex>
#include <functional>
#include <span>
#include <vector>

#include "mix/mixer.h"

namespace wip::cabled {

using mix::cf32;
using mix::tick;

struct known_burst {
    static constexpr tick period = 512;
    // Periods that are measured; one more comes before, and one after them.
    static constexpr std::size_t windows = 4;
    static constexpr tick size = (2 + static_cast<tick>(windows)) * period;
    static constexpr double amplitude = 0.178;                                 // -15 dBFS
    static constexpr int first_bin = -160, nof_bins = 320, bins_in_mean = 10;  // bins of 15 kHz
    static constexpr std::size_t nof_values = nof_bins / bins_in_mean;
    // The slots in which a station sends the burst, counted from its start, and the slot at which
    // its normal transmission begins.
    static constexpr std::array<int, 8> slots{0, 12, 25, 39, 54, 70, 87, 105};
    static constexpr int nof_slots = 106;

    static cf32 sample(tick n);  // 0 <= n < size
    // sum_n x[n] e^{-j 2 pi k n / 512} for all bins k from first_bin on.
    static std::vector<std::complex<double>> spectrum(std::span<const cf32> x);
};

struct burst_response {
    std::array<std::complex<double>, known_burst::nof_values> values{};
    double noise = 0;  // noise power in one of the values
};

struct heard_burst {
    tick centre = 0;
    double cfo = 0;             // cycles per sample
    double power = 0;           // mean of |x|^2
    std::vector<cf32> samples;  // samples of the measured windows
};

// The channel's response from a received burst. `cfo`: the approximate carrier offset in cycles per
// sample; 0: unknown.
burst_response response_of(const heard_burst& b, double cfo = 0);
// The response of taps. `cfo`: the carrier offset, in cycles per sample, of the signal that they
// are applied to.
burst_response response_of(std::span<const mix::path_tap> taps, double cfo);

// Searches a stream of samples for the burst, with a few operations for every eight samples.
class burst_listener {
public:
    using on_burst_fn = std::function<void(const heard_burst&)>;
    // If `first` does not continue the previous call, the search begins again.
    void take(tick first, std::span<const cf32> x, const on_burst_fn& on_burst);

private:
    static constexpr tick block = 64, window_blocks = 24, ring_size = 8192;
    static constexpr tick blocks_in_period = known_burst::period / block;
    static constexpr std::size_t nof_blocks = 64;
    struct similarity {
        double value = 0, cfo = 0, power = 0;
    };
    static std::size_t index(tick t) { return static_cast<std::size_t>(t) & (ring_size - 1); }
    similarity similarity_at_block();
    void on_block(const on_burst_fn& on_burst);

    std::vector<cf32> ring_ = std::vector<cf32>(static_cast<std::size_t>(ring_size));
    std::array<std::complex<double>, nof_blocks> correlation_{};
    std::array<double, nof_blocks> power_{};
    std::complex<double> sum_;  // over a window of blocks
    double power_now_ = 0,
           power_before_ = 0;   // power over that window, and over the window one period earlier
    tick begin_ = 0, end_ = 0;  // samples [begin_, end_) have been taken
    tick similar_since_ = 0;    // end of the first similar block; 0: the last block was not similar
    similarity best_;
};

}  // namespace wip::cabled
