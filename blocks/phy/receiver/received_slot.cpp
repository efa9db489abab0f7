// SPDX-License-Identifier: GPL-3.0-or-later
#include "phy/receiver/received_slot.h"

#include <numeric>

#include "phy/receiver/slot_estimator.h"

namespace wip::phy {

std::array<float, nof_bins> slot_snr_db(const received_slot& received) noexcept {
    std::array<float, nof_bins> out;
    out.fill(least_snr_db);
    for (std::size_t b = 0; b < received.bin_power.size(); ++b)
        out[b] = reported_snr(received.bin_power[b] / received.bin_noise[b]).single();
    return out;
}

db mean_snr(const received_slot& received) noexcept {
    return db(std::accumulate(received.snr_db.begin(), received.snr_db.end(), 0.0) / nof_bins);
}

}  // namespace wip::phy
