// SPDX-License-Identifier: GPL-3.0-or-later
// How often the base station does not decode a feedback form, at bin level: a function of the SNRs
// of the 25 bins that carry it.
//
//   effective SNR   the SNR of white noise with which the code fails as often (exponential
//                   effective SNR mapping, Brueninghaus et al. 2005):
//                   g = -beta ln(mean over bins of exp(-g_b / beta)), beta = 1.5 of 4-QAM
//   lost            that of the sample-level receiver in white noise, as measured
//                   (docs/results/curves.md, Uplink); between the points straight lines of the
//                   logarithm, the last of which goes on above 6 dB
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <span>

#include "types/grid.h"

namespace wip::bin_model {

// Probability that a form is lost; `snr` is linear.
inline double form_loss(std::span<const float, nof_bins> snr) {
    constexpr double beta = 1.5;
    double sum = 0;
    for (const float s : snr) sum += std::exp(-std::max(0.0, static_cast<double>(s)) / beta);
    const double effective = -beta * std::log(sum / nof_bins);
    const double snr_db = 10 * std::log10(std::max(effective, 1e-10));
    struct point {
        double snr_db, lost;
    };
    static constexpr std::array<point, 8> measured{{{0, 1},
                                                    {2, 3757.0 / 4000},
                                                    {3, 2285.0 / 4000},
                                                    {3.5, 1310.0 / 4000},
                                                    {4, 595.0 / 4000},
                                                    {4.5, 208.0 / 4000},
                                                    {5, 73.0 / 4000},
                                                    {6, 6.0 / 4000}}};
    if (snr_db <= measured.front().snr_db) return 1;
    std::size_t i = 1;
    while (i + 1 < measured.size() && snr_db > measured[i].snr_db) ++i;
    const point &a = measured[i - 1], &b = measured[i];
    const double part = (snr_db - a.snr_db) / (b.snr_db - a.snr_db);
    return std::exp(std::log(a.lost) + part * (std::log(b.lost) - std::log(a.lost)));
}

}  // namespace wip::bin_model
