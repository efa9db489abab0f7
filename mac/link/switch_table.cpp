// SPDX-License-Identifier: GPL-3.0-or-later
#include "link/switch_table.h"

#include "switch_table_values.h"  // generated

namespace wip {

switch_table::switch_table(switch_table_kind kind)
    : from_db_(kind == switch_table_kind::nmse_0 ? switch_values_nmse_0 : switch_values_nmse_0_1) {}

}  // namespace wip
