// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/settings_store.h"

namespace wip::board {

// Returns the two sectors that the board has for the settings.
attenuator::flash_port& settings_flash();

}  // namespace wip::board
