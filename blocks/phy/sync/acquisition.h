// SPDX-License-Identifier: GPL-3.0-or-later
// From samples without any knowledge to slot timing, CFO, cell and slot in frame; no preamble.
//
// 1. Cyclic prefix. p[t] = conj(r[t-768]) r[t], folded modulo 5120 and added up over blocks of
//    5120 samples, then summed over the 6 x 85 places where a slot that starts at m has its
//    prefixes (pattern 85, 85, 86, 85, 85, 86). |sum| against the energy of the signal is
//    SNR / (SNR + 1) at the right m and about 1 / sqrt(510 blocks) without a signal (0.026 after
//    three blocks; the largest of 5120 places about three times that). The threshold 0.15 is passed
//    from -7 dB up. The phase is 2 pi CFO / 10 kHz: the CFO modulo 10 kHz.
//    The sum repeats, to within one sample, at every OFDM symbol, so it is still open which of the
//    six symbols is the first. Of several cells, the strongest gives the largest sum.
// 2. Pilots. Ten symbols of the last two slots are transformed; the products of neighbouring pilots
//    are compared with what they should be (cell_search.h), over 6 symbol positions x those CFO of
//    a whole number of subcarriers more that stay in reach x 30 slots in frame x the cells. In
//    reach are +-11 kHz, and +-46 kHz in every second attempt of 24 blocks (two oscillators of 2
//    ppm and a carrier of 5.9 GHz are 24 kHz apart, 20 ppm at 1.8 GHz 36 kHz): a signal within the
//    smaller range is found as early and as reliably as with that range alone. A signal that has
//    prefixes but is not ours is examined after 3, 4, 6, 9 ... 24 blocks, not after each one, which
//    would take a third of a slow core. Products of neighbours do not depend on the channel's
//    phase, and a timing error turns all of them by the same angle, which gives the timing
//    correction. Leakage of the pilots into empty neighbouring subcarriers (idle bins, high SNR) is
//    as regular as the pilots themselves but weaker: the largest |S| is taken, not the largest
//    |S|^2 / sum |p|^2 = x. x of a wrong hypothesis passes X with exp(-X); threshold X = ln(100 N)
//    with N hypotheses: one try in a hundred goes wrong where there is no pilot to be found (near,
//    N = 23 040 for all cells: X = 14.7, which is passed from 0 dB up; with 4.5 times as many 1.5
//    more, 0.4 dB).
// The result is a candidate: slot_synchroniser verifies it with the slots that follow.
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "phy/math/aligned.h"
#include "phy/ofdm/ofdm.h"
#include "phy/sync/cell_search.h"

namespace wip::phy {

struct acquired {
    std::int64_t slot_start = 0;  // sample time of a slot in the last two slots
    int cell = 0;
    int slot_in_frame = 0;  // number of that slot in its frame
    double cfo_hz = 0;
};

class acquisition {
public:
    explicit acquisition(sender from);  // as cell_search has it; throws std::invalid_argument
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
    void transform(const cf32* base, double cfo_hz) noexcept;

    static constexpr int nof_windows = 10;
    dft to_subcarriers_{dft::direction::to_subcarriers};
    cell_search search_;
    bool wide_ = false;  // this attempt has the larger range of CFO
    aligned_vector<cf32> folded_, window_, spectrum_, rotation_, sums_;
    double energy_ = 0;
    int blocks_ = 0;         // number of blocks summed in folded_
    int next_decision_ = 0;  // number of blocks at which pilots are compared next
};

}  // namespace wip::phy
