// SPDX-License-Identifier: GPL-3.0-or-later
// The version of the firmware, in the answer to *IDN?.
#pragma once

#include <string_view>

namespace wip::attenuator {

inline constexpr std::string_view version = "1.0";

}  // namespace wip::attenuator
