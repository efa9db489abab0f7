// SPDX-License-Identifier: GPL-3.0-or-later
// Power spectrum of a stretch of samples by liquid-dsp's spgramcf (Welch's method): transforms of
// 768 samples, so that there is a point for every subcarrier, half over one another, averaged. The
// window is the Blackman-Harris window of four terms: its side lobes are 92 dB down, so a strong
// signal beside the cell does not hide the noise inside; its noise bandwidth is 2.004 points.
//
//   dBFS  power within that bandwidth, 20 kHz; a tone of amplitude 1 on a point has 0
//
// liquid's scale is not the same in all versions (1.3: a factor of sqrt(2 N)), so it is measured
// with such a tone when the object is made. Its buffer begins as zeros: the first transform would
// have them in it, and is thrown away.
#pragma once

#include <complex>
#include <memory>
#include <span>
#include <vector>

#include "types/grid.h"

struct spgramcf_s;

namespace wip::iq {

class power_spectrum {
public:
    using cf32 = std::complex<float>;
    static constexpr std::size_t nof_points = fft_size;
    static constexpr double noise_bandwidth_hz = 2.0044 * sample_rate_hz / fft_size;

    power_spectrum();

    // Writes the spectrum in the order of frequency, from -3840 kHz up, 10 kHz apart. `in` has 768
    // samples or more. False: some samples are NaN, and so is `dbfs`.
    bool work(std::span<const cf32> in, std::span<float, nof_points> dbfs);

    // The level of a point without power.
    static constexpr float lowest_dbfs = -140;

private:
    struct destroy {
        void operator()(spgramcf_s* s) const;
    };
    void measure(std::span<const cf32> in, std::span<float, nof_points> db);

    std::unique_ptr<spgramcf_s, destroy> spectrum_;
    float full_scale_db_ = 0;  // liquid's level of a tone of amplitude 1, in dB
};

}  // namespace wip::iq
