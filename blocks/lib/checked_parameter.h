// SPDX-License-Identifier: GPL-3.0-or-later
// Parameters of blocks that are not checked by the class that takes them.
#pragma once

#include <cmath>
#include <cstdint>
#include <sstream>
#include <stdexcept>
#include <string>

namespace gr {
namespace wip {

template <class T>
T checked_parameter(const char* name, T value, double low, double high) {
    if (static_cast<double>(value) >= low && static_cast<double>(value) <= high) return value;
    std::ostringstream text;
    text << name << ": " << value << " is outside " << low << " .. " << high;
    throw std::invalid_argument(text.str());
}

inline std::int64_t checked_start_slot(std::int64_t start) {
    return checked_parameter("start_slot", start, 0, 0x1p50);
}

}  // namespace wip
}  // namespace gr
