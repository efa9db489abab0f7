// SPDX-License-Identifier: GPL-3.0-or-later
// From samples without any knowledge to slot timing, CFO and slot in frame; no preamble.
//
// 1. Cyclic prefix. p[t] = conj(r[t-768]) r[t], folded modulo 5120 and added up over blocks of
//    5120 samples, then summed over the 6 x 85 places where a slot that starts at m has its
//    prefixes (pattern 85, 85, 86, 85, 85, 86). |sum| against the energy of the signal is
//    SNR / (SNR + 1) at the right m and about 1 / sqrt(510 blocks) without a signal (0.026 after
//    three blocks; the largest of 5120 places about three times that). The threshold 0.15 is passed
//    from -7 dB up. The phase is 2 pi CFO / 10 kHz: the CFO modulo 10 kHz.
//    The pattern repeats, to within one sample, at every OFDM symbol: which of the six symbols is
//    the first is still open.
// 2. Pilots. Ten symbols of the last two slots are transformed; the product of neighbouring pilots
//    (10 subcarriers apart) is compared with the product of the values they should have, over 6
//    symbol positions x CFO -1, 0, +1 subcarriers x 30 slots in frame. Products of neighbours do
//    not mind the channel's phase, and a timing error turns all of them alike: that turn is the
//    timing correction. Score: |sum| over the sum of magnitudes, about SNR / (SNR + 1) for the
//    right one, 0.13 for a wrong one; the best of 540 wrong ones stays below 0.36. Threshold 0.45.
//    Noise alone passes both steps less than once in a thousand million tries; and the receiver
//    believes nothing before a grant with a good CRC has been decoded.
#pragma once

#include <array>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "phy/aligned.h"
#include "phy/ofdm.h"
#include "phy/pilots.h"

namespace wip::phy {

struct acquired {
    std::int64_t slot_start = 0;  // sample time of a slot in the last two slots
    int slot_in_frame = 0;        // of that slot
    double cfo_hz = 0;
    double score = 0;
};

// Normalised differential correlation of one slot's pilots with the values they should have:
// 1 = perfect, 0.13 = chance. `phase`: its angle, the phase step over 10 subcarriers.
struct pilot_score {
    float magnitude = 0;
    float phase = 0;
    float energy = 0;  // sum of magnitudes of the products
};
pilot_score score_pilots(const std::array<cf32, nof_pilots>& received,
                         const std::array<cf32, nof_pilots>& sent) noexcept;

class acquisition {
public:
    explicit acquisition(const pilots& values);
    void reset() noexcept;

    // `end`: one past the newest sample, whose sample time is `end_time`; the last 5120 samples are
    // new, `available` samples before `end` can be read.
    std::optional<acquired> step(const cf32* end, std::size_t available,
                                 std::int64_t end_time) noexcept;

private:
    struct candidate {
        std::int64_t start = 0;  // slot start modulo 5120, up to a whole number of OFDM symbols
        double metric = 0;
        double cfo_hz = 0;
    };
    candidate best_prefix() noexcept;
    std::optional<acquired> resolve(const candidate& c, const cf32* end, std::size_t available,
                                    std::int64_t end_time) noexcept;

    static constexpr int nof_windows = 10;
    const pilots& values_;
    dft to_subcarriers_{dft::direction::to_subcarriers};
    aligned_vector<cf32> folded_, window_, spectrum_, rotation_;
    aligned_vector<std::complex<double>> cumulated_;
    double energy_ = 0;
    int blocks_ = 0;
};

}  // namespace wip::phy
