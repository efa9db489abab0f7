// SPDX-License-Identifier: GPL-3.0-or-later
// The methods of gain_predictor.h, each in its file, which says how it works.
#pragma once

#include "phy/prediction/gain_predictor.h"

namespace wip::phy {

std::unique_ptr<gain_predictor> make_burg_predictor(int horizon);
std::unique_ptr<gain_predictor> make_delay_predictor(int horizon);
std::unique_ptr<gain_predictor> make_kalman_predictor(int horizon);
std::unique_ptr<gain_predictor> make_least_squares_predictor(int horizon);

}  // namespace wip::phy
