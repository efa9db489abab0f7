// SPDX-License-Identifier: GPL-3.0-or-later
#include "cells/cells_config.h"

#include "cells/layout.h"
#include "types/require.h"

namespace wip::cells {

void cells_config::check() const {
    using namespace setting;
    check_range("count", cells, cells_count);
    require(!wrap || (cells > 1 && layout::whole_rings(cells)), "count", cells,
            "7, 19 or 37 with wrap-around");
    check_range("side_m", side_m, cells_side_m);
    check_range("users", users, 1, cells_users.high);
    check_range("carriers", carriers, cells_carriers);
    check_range("spreading", spreading, cells_spreading);
    check_range("orthogonality", orthogonality, cells_orthogonality);
    check_range("path_exponent", path_exponent, cells_path_exponent);
    check_range("path_gain_db", path_gain_db, cells_path_gain_db);
    check_range("shadowing_db", shadowing_db, cells_shadowing_db);
    check_range("shadowing_m", shadowing_m, cells_shadowing_m);
    check_range("doppler_hz", doppler_hz, cells_doppler_hz);
    check_range("rays", rays, cells_rays);
    check_range("oscillators", oscillators, cells_oscillators);
    check_range("noise_dbw", noise_dbw, cells_noise_dbw);
    check_range("power_dbw", power_dbw, cells_power_dbw);
    check_range("power_range_db", power_range_db, cells_power_range_db);
    check_range("step_db", step_db, cells_step_db);
    check_range("loop_slots", loop_slots, cells_loop_slots);
    check_range("target_low_db", target_low_db, cells_target_low_db);
    check_range("target_high_db", target_high_db, cells_target_high_db);
    require(target_low_db <= target_high_db, "target_low_db", target_low_db,
            "at most cells.target_high_db = " + text_of(target_high_db));
    check_range("eesm_beta", eesm_beta, cells_eesm_beta);
    check_range("margin_db", margin_db, cells_margin_db);
    check_range("curve_db", curve_db, cells_curve_db);
    check_range("speed_kmh", speed_kmh, cells_speed_kmh);
    check_range("handover_db", handover_db, cells_handover_db);
}

}  // namespace wip::cells
