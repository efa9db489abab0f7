// SPDX-License-Identifier: GPL-3.0-or-later
#include "link/own_sharing.h"

#include <algorithm>

#include "link/frame_success.h"
#include "types/frame.h"

namespace wip {

static_assert(OPENWIP_BINS == nof_bins && OPENWIP_MOST_BITS_PER_SYMBOL == max_bits_per_symbol);

openwip_cell cell_of(const link_config& link, int users, int averaging_slots) {
    openwip_cell cell{};
    cell.users = users;
    cell.bins = link.bins;
    cell.averaging_slots = averaging_slots;
    cell.loop_slots = link.retransmission_delay_slots;
    for (int k = 1; k <= max_bits_per_symbol; ++k)
        cell.frame_bits[k] = frame_payload_bits(link.profile, k);
    return cell;
}

own_sharing::own_sharing(scheduler_port& scheduler, const openwip_cell& cell)
    : scheduler_(&scheduler),
      cell_(cell),
      users_(static_cast<std::size_t>(cell.users)),
      acknowledged_(users_.size()),
      given_(users_.size()) {}

void own_sharing::show(int user, const scheduling_view& view, std::uint64_t acknowledged_bits,
                       const link_config& link) {
    const auto n = static_cast<std::size_t>(user);
    openwip_user& u = users_[n];
    u.hears = view.hears ? 1 : 0;
    u.pieces = view.nof_pieces;
    for (std::size_t b = 0; b < nof_bins; ++b) {
        const int k = view.rate[b];
        u.piece_bits[b] = static_cast<int>(b) < view.nof_pieces ? 4 * view.piece[b] : 0;
        u.predicted_snr_db[b] = view.predicted_snr_db[b];
        u.bits_per_symbol[b] = view.rate[b];
        u.expected_bits[b] = frame_payload_bits(link.profile, k) *
                             frame_success(k, db(view.predicted_snr_db[b]), link.eight);
    }
    u.acknowledged_bits = static_cast<double>(acknowledged_bits - acknowledged_[n]);
    acknowledged_[n] = acknowledged_bits;
}

void own_sharing::share(slot air, int bins) {
    slot_ = {};
    slot_.slot = air.value;
    slot_.users = cell_.users;
    slot_.bins = bins;
    slot_.user = users_.data();
    slot_.cell = &cell_;
    scheduler_->share(slot_);
    std::ranges::fill(given_, 0);
    for (int i = 0; i < slot_.nof_given; ++i) {
        const openwip_given& g = slot_.given[i];
        given_[static_cast<std::size_t>(g.user)] |= bin_index(g.bin).bit();
    }
}

}  // namespace wip
