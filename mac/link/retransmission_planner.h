// SPDX-License-Identifier: GPL-3.0-or-later
// Which bin carries which waiting unit. Oldest unit first; each takes the lowest-rated free bin
// that is rated at least its own modulation and keeps that modulation (so good bins stay for the
// units that need them, and copies can be combined). When every free bin is rated lower the unit is
// cut: pieces at the modulation of the best bins left, the last piece at the lowest modulation that
// holds it (rlc/unit.h). What finds no bin waits.
//
// The grant codes a retransmission by its SN's step from the previous one in bin order, so order is
// worth bits (types/grant.h). Where it costs nothing, units go in ascending order to ascending
// bins: units of equal modulation may swap their bins, and the pieces of a cut unit are cut in bin
// order.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "rlc/unit.h"
#include "types/bin.h"

namespace wip {

struct rated_bin {
    bin_index bin;
    std::uint8_t rate = 0;  // bits per symbol, 1..8
};

struct placed_unit {
    bin_index bin;
    arq_unit unit;
};

class retransmission_planner {
public:
    explicit retransmission_planner(link_profile profile);

    // `waiting` in ascending order (before()); `bins` in ascending bin order, at most 25.
    void plan(std::span<const arq_unit> waiting, std::span<const rated_bin> bins);

    // The units with their bins, by ascending bin. Their counts of retransmissions do not include
    // this one.
    std::span<const placed_unit> placed() const { return placed_; }
    // Number of units of `waiting` that have a bin; of the last one perhaps only a part has.
    std::size_t used() const { return used_; }
    // The rest of a unit that was cut and not placed in full.
    std::span<const arq_unit> rest() const { return rest_; }
    int cuts() const { return cuts_; }  // units cut that had been sent as they were

private:
    void cut(const arq_unit& unit);
    rated_bin take(std::size_t index);

    link_profile profile_;
    std::vector<rated_bin> free_;          // ascending rate, then bin
    std::vector<rated_bin> bins_of_unit_;  // bins that take one unit together, ascending bin
    std::vector<placed_unit> placed_;
    std::vector<arq_unit> rest_;
    std::size_t used_ = 0;
    int cuts_ = 0;
};

}  // namespace wip
