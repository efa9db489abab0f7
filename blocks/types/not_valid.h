// SPDX-License-Identifier: GPL-3.0-or-later
// The sentence about a value that is not valid: "KEY is VALUE; valid: VALID".
#pragma once

#include <string>
#include <string_view>

namespace wip {

inline std::string not_valid(std::string_view key, std::string_view value, std::string_view valid) {
    return std::string(key).append(" is ").append(value).append("; valid: ").append(valid);
}

}  // namespace wip
