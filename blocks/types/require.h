// SPDX-License-Identifier: GPL-3.0-or-later
// What a configuration says of a value of its own that is not valid: "KEY = VALUE: must be VALID".
#pragma once

#include <stdexcept>
#include <string>

namespace wip {

[[noreturn]] inline void refuse(const std::string& key, const std::string& value,
                                const char* valid) {
    throw std::invalid_argument(key + " = " + value + ": must be " + valid);
}

inline void require(bool ok, const std::string& key, double value, const char* valid) {
    if (!ok) refuse(key, std::to_string(value), valid);
}

// Refuses NaN, too.
inline void in_range(const std::string& key, double value, double low, double high,
                     const char* valid) {
    require(value >= low && value <= high, key, value, valid);
}

}  // namespace wip
