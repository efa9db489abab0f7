// SPDX-License-Identifier: GPL-3.0-or-later
// Bearers of the built-in profiles, with nothing else set.
#pragma once

#include "umts/bearer.h"

namespace wip::umts {

inline bearer_config of_profile(const char* name) {
    bearer_config c;
    c.profile = *find_bearer_profile(name);
    return c;
}

}  // namespace wip::umts
