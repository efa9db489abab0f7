// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

namespace wip::config {

inline constexpr int exit_bad_input = 2;  // configuration, command line, permissions, versions

}  // namespace wip::config
