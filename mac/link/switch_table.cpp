// SPDX-License-Identifier: GPL-3.0-or-later
#include "link/switch_table.h"

#include <algorithm>
#include <cmath>

#include "switch_table_values.h"  // generated

namespace wip {

switch_table::switch_table(switch_table_kind kind, link_profile profile, eight_points eight)
    : kind_(kind), profile_(profile), eight_(eight) {
    const bool radio = profile == link_profile::radio;
    const auto set = static_cast<std::size_t>(eight);
    if (kind == switch_table_kind::nmse_0)
        from_db_ = (radio ? switch_values_radio : switch_values_wipemu)[set].front();
    else
        from_db_ = (radio ? switch_values_nmse_0_1_radio : switch_values_nmse_0_1_wipemu)[set][0];
}

void switch_table::set_error(double level) noexcept {
    if (kind_ != switch_table_kind::measured || !(level >= 0)) return;
    const auto& family =
        (profile_ == link_profile::radio ? switch_values_radio
                                         : switch_values_wipemu)[static_cast<std::size_t>(eight_)];
    // Row 0 is no error, row 1 the lowest level of the grid: linear in the level between them, in
    // decibels from there on.
    double row = level / switch_lowest_error;
    if (row > 1)
        row = std::min(1 + 10 * std::log10(level) - switch_lowest_error_db,
                       static_cast<double>(family.size() - 1));
    const auto below = std::min(static_cast<std::size_t>(row), family.size() - 2);
    const auto share = static_cast<float>(row - static_cast<double>(below));
    for (std::size_t k = 2; k < from_db_.size(); ++k)
        from_db_[k] = family[below][k] + share * (family[below + 1][k] - family[below][k]);
}

}  // namespace wip
