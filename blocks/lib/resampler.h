// SPDX-License-Identifier: GPL-3.0-or-later
// Samples at the rate of the cell from samples at another one, by filters of liquid-dsp:
//
//   below 7.68 MS/s: resamp2_crcf up by 2, so sharp that the cell's edge passes and its image does
//   not msresamp_crcf to 15.36 MS/s, whatever the ratio resamp2_crcf down by 2
//
// msresamp_crcf to 7.68 MS/s at once has a wide transition: what lies 5.5 MHz off the carrier would
// fall into the cell 33 dB down. In this order everything that falls into it is 60 dB down.
// The latency of the filters is taken out: output sample k is what the signal was k / 7.68e6 s
// after its first input sample, to half a sample; there are as many as the input's duration has at
// 7.68 MS/s.
//
// The error that it adds is measured by tests/bench/bench_resample.cpp. The ratio is a number of 24
// bits: over a recording that is a clock that is off by less than 0.1 ppm, which every receiver
// follows. It is made for recordings, not for the slot path: it allocates, and it is slow.
#pragma once

#include <complex>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "types/grid.h"

namespace wip {

class resampler {
public:
    using cf32 = std::complex<float>;
    static constexpr float stopband_db = 60;
    // The cell's 500 subcarriers and the empty one have to be in it: 5.01 MHz.
    static constexpr double lowest_hz = (nof_subcarriers + 1) * 1e4, highest_hz = 250e6;

    // Throws std::invalid_argument.
    explicit resampler(double input_hz);
    ~resampler();
    resampler(const resampler&) = delete;
    resampler& operator=(const resampler&) = delete;

    // Converts a piece of the input; the end of the output may come with the next piece, or with
    // finish().
    std::vector<cf32> work(std::span<const cf32> in);
    std::vector<cf32> finish();

    // The library and its version.
    static std::string name();

private:
    struct chain;
    std::vector<cf32> run(std::span<const cf32> in);

    double ratio_;
    std::unique_ptr<chain> filters_;
    float scale_ = 1;
    std::int64_t outputs_to_skip_ = 0;  // the latency that is left to be taken out
    std::int64_t taken_ = 0, given_ = 0;
};

}  // namespace wip
