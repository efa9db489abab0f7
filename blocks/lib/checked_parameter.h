// SPDX-License-Identifier: GPL-3.0-or-later
// Parameters of blocks that are not checked by the class that takes them.
#pragma once

#include <cstdint>

#include "types/require.h"

namespace gr::wip {

template <class T>
T checked_parameter(const char* name, T value, double low, double high) {
    ::wip::check_range(name, static_cast<double>(value), low, high);
    return value;
}

inline std::int64_t checked_start_slot(std::int64_t start) {
    return checked_parameter("start_slot", start, 0, 0x1p50);
}

}  // namespace gr::wip
