// SPDX-License-Identifier: GPL-3.0-or-later
// What the damaged path has counted, but for the interfaces' part.
#pragma once

#include "schema/control.pb.h"
#include "tcpl/damaged_path.h"

namespace wip::tcpl {

void fill(const damaged_path& path, openwip::control::PathStatus& status);

}  // namespace wip::tcpl
