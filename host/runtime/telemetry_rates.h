// SPDX-License-Identifier: GPL-3.0-or-later
// Settings `telemetry.*`: of which slots a topic is made (every nth, 0 = never), and how much waits
// for a slow reader.
#pragma once

#include "settings/configuration.h"

namespace wip::host {

using telemetry_rates = config::telemetry_settings;

}  // namespace wip::host
