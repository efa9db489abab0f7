// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/settings_store.h"

namespace wip::board {

// Two sectors for the settings, of whatever the board has.
attenuator::flash_port& settings_flash();

}  // namespace wip::board
