// SPDX-License-Identifier: GPL-3.0-or-later
// The rate at which the queue of a terminal is expected to empty, from the predicted SNRs:
//
//   capacity  of all bins of the cell at the rates that the prediction gives them in the slot that
//             is planned, the mean of about eight slots
//   share     of this capacity that new frames of the terminal had in the last 100 ms, while
//             packets waited: less than all of it, for retransmissions and other terminals
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "link/link_config.h"
#include "link/scheduling_view.h"
#include "link/sent_slot.h"

namespace wip {

class drain_forecast {
public:
    static constexpr double capacity_slots = 8, share_slots = 150;

    // Returns bytes a second; called once for each slot, before it is planned.
    double next(const std::array<float, nof_bins>& predicted_snr_db,
                const std::array<std::uint8_t, nof_bins>& rate, const link_config& c) {
        in_slot_ = 0;
        const bool best = c.allocation == allocation_kind::best;
        const auto order =
            best ? strongest_first(predicted_snr_db) : std::array<bin_index, nof_bins>{};
        for (std::size_t i = 0; i < static_cast<std::size_t>(c.bins); ++i)
            in_slot_ += frame_payload_nibbles(c.profile, rate[best ? order[i].n() : i]);
        capacity_ += (in_slot_ - capacity_) / (capacity_ > 0 ? capacity_slots : 1);
        return capacity_ * share_ / 2 * slots_per_second;
    }
    // Takes the slot as it was planned, if packets are left that it had no room for.
    void filled(const sent_slot& out, const link_config& c) {
        if (in_slot_ <= 0) return;
        double fresh = 0;
        for (std::size_t b = 0; b < nof_bins; ++b)
            if (out.carried(b) && out.repeated(b) == 0)
                fresh += frame_payload_nibbles(c.profile, out.modulation(b));
        share_ += (fresh / in_slot_ - share_) / share_slots;
    }

private:
    double in_slot_ = 0, capacity_ = 0;  // nibbles
    double share_ = 1;
};

}  // namespace wip
