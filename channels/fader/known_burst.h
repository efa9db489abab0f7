// SPDX-License-Identifier: GPL-3.0-or-later
// The burst that soundings are made with, and who hears it: a Zadoff-Chu sequence of 512 samples
// (flat, at -15 dBFS), six times.
//
// A base station sends it eight times before its first slot, 8 to 12 ms apart, each distance
// another one, so that those who hear some of them know which. Through radios neither its time nor
// its level nor its carrier is known: it is found by being like itself a period before, and what it
// says of the channel is the response without its mean delay, at which 150 kHz make one value. It
// says by how much the carrier is off, up to whole 15 kHz.
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
    static constexpr std::size_t windows = 4;  // that are measured; one before and one after them
    static constexpr tick size = (2 + static_cast<tick>(windows)) * period;
    static constexpr double amplitude = 0.178;                                 // -15 dBFS
    static constexpr int first_bin = -160, nof_bins = 320, bins_in_mean = 10;  // of 15 kHz
    static constexpr std::size_t nof_values = nof_bins / bins_in_mean;
    // The slots of a station's burst, counted from its start; then the slots themselves.
    static constexpr std::array<int, 8> slots{0, 12, 25, 39, 54, 70, 87, 105};
    static constexpr int nof_slots = 106;

    static cf32 sample(tick n);  // 0 <= n < size
    // sum_n x[n] e^{-j 2 pi k n / 512} of all bins.
    static std::vector<std::complex<double>> spectrum(std::span<const cf32> x);
};

struct burst_response {
    std::array<std::complex<double>, known_burst::nof_values> values{};
    double noise = 0;  // power that is left of it in a value
};

struct heard_burst {
    tick centre = 0;
    double cfo = 0;             // cycles per sample
    double power = 0;           // mean
    std::vector<cf32> samples;  // the windows
};

// The response that a received burst shows. `cfo`: the approximate offset, if it is known.
burst_response response_of(const heard_burst& b, double cfo = 0);
// The response of taps. `cfo`: the offset of the signal that they are applied to.
burst_response response_of(std::span<const mix::path_tap> taps, double cfo);

// Looks for it in samples as they come: a few operations for eight of them.
class burst_listener {
public:
    using on_burst_fn = std::function<void(const heard_burst&)>;
    // A jump of the time begins anew.
    void take(tick first, std::span<const cf32> x, const on_burst_fn& on_burst);

private:
    static constexpr tick block = 64, window_blocks = 24, ring_size = 8192;
    static constexpr tick blocks_in_period = known_burst::period / block;
    static constexpr std::size_t nof_blocks = 64;
    struct likeness {
        double value = 0, cfo = 0, power = 0;
    };
    static std::size_t index(tick t) { return static_cast<std::size_t>(t) & (ring_size - 1); }
    likeness of_block();
    void on_block(const on_burst_fn& on_burst);

    std::vector<cf32> ring_ = std::vector<cf32>(static_cast<std::size_t>(ring_size));
    std::array<std::complex<double>, nof_blocks> alike_{};
    std::array<double, nof_blocks> power_{};
    std::complex<double> sum_;     // over a window
    double now_ = 0, before_ = 0;  // of power: over that and the one a period before
    tick begin_ = 0, end_ = 0;     // known
    tick since_ = 0;               // it is alike; 0: it is not
    likeness best_;
};

}  // namespace wip::cabled
