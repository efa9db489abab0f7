// SPDX-License-Identifier: GPL-3.0-or-later
// Makes the predictors of a block that is being made. An error in code of the user's own is
// reported as an invalid argument of the block, as every other value that is not valid.
#pragma once

#include <memory>
#include <stdexcept>
#include <string_view>

#include "extension/own_predictors.h"
#include "types/failure.h"

namespace wip {

// Throws std::invalid_argument.
inline std::unique_ptr<phy::gain_predictor> make_checked(extension::own_predictors& own,
                                                         std::string_view name, int horizon) try {
    return own.make(name, horizon);
} catch (const bad_input& e) {
    throw std::invalid_argument(e.what());
}

}  // namespace wip
