// SPDX-License-Identifier: GPL-3.0-or-later
// Are the pilots there? Decided over slots, from z of pilot_score.h.
//
// Each slot adds the logarithm of a likelihood ratio, m z - m^2 / 2: a normal z of mean m against
// one of mean 0. m = 3 is the mean of z at -5 dB on typical urban; below -8.5 dB the sum falls.
//
// Confirming a candidate starts at 0 with slots that had no part in finding it. Without a signal
// exp(sum) is a supermartingale (pilot_score.h), so that by Ville's inequality it ever reaches
// exp(18) with a probability of at most exp(-18) = 1.5e-8. Even if every search step of a terminal
// (1500 a second) made a candidate in a hundred tries, that is 8e-4 false synchronisations an hour;
// of white noise hardly any passes the prefix test. At 6 dB two slots are enough.
//
// Watching a synchronised signal: the sum is held at 80 at most and the signal counts as lost when
// it falls to 0. Without a signal it falls by 4.5 +- 3 a slot, so that it takes 18 slots in the
// mean and more than 30 with a probability of 4e-4: (135 - 80) / (3 sqrt 30) = 3.35 standard
// deviations. A fade of the whole band has to last as long to be taken for a loss: the threshold is
// as patient as 20 ms allow. Then timing is held (slot_synchroniser.h). Above -8.5 dB a loss needs
// a deviation that comes once in exp(80) slots.
#pragma once

#include <algorithm>

namespace wip::phy {

class sequential_test {
public:
    void start() noexcept { sum_ = 0; }
    void add(float z) noexcept { sum_ += mean * z - mean * mean / 2; }
    // Called while timing is held: the sum is then over the slots since the last one without a
    // signal. It is as rare that it gets to exp(18) without a signal as for a candidate, in each
    // slot.
    void keep_open() noexcept { sum_ = std::max(sum_, 0.0F); }
    bool confirmed() const noexcept { return sum_ >= enough; }
    bool refuted() const noexcept { return sum_ <= least_sum; }
    void hold() noexcept { sum_ = std::min(sum_, most_sum); }
    bool lost() const noexcept { return sum_ <= 0; }

private:
    static constexpr float mean = 3;
    static constexpr float enough = 18, least_sum = -14, most_sum = 80;
    float sum_ = 0;
};

}  // namespace wip::phy
