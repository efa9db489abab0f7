// SPDX-License-Identifier: GPL-3.0-or-later
// A cell runs dry, and what holds then: what went in has come out, or both ends have counted why
// not.
#pragma once

#include "cell_world.h"

namespace wip::sim {

// Runs until nothing is on its way any more. Throws std::logic_error when that takes too long.
void run_dry(cell_world& w);
// Checks the cell after run_dry(). Throws std::logic_error at the first violation.
void check_dry(cell_world& w);

}  // namespace wip::sim
