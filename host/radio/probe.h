// SPDX-License-Identifier: GPL-3.0-or-later
// The properties that a radio reports. Reads nothing but the property tree: no sample flows.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "radio/device.h"

namespace wip::radio {

nlohmann::json probe(usrp& radio);

}  // namespace wip::radio
