// SPDX-License-Identifier: GPL-3.0-or-later
// The error of a configuration about a value that is not valid (types/not_valid.h).
#pragma once

#include <array>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <string_view>

#include "types/not_valid.h"

namespace wip {

[[noreturn]] inline void refuse(std::string_view key, const std::string& value,
                                std::string_view valid) {
    throw std::invalid_argument(not_valid(key, value, valid));
}

// A number in the form in which settings/kinds.py writes the limits of a setting.
inline std::string text_of(double number) {
    std::array<char, 32> text;
    return {text.data(),
            static_cast<std::size_t>(std::snprintf(text.data(), text.size(), "%.10g", number))};
}

inline void require(bool ok, std::string_view key, double value, std::string_view valid) {
    if (!ok) refuse(key, text_of(value), valid);
}

// Refuses NaN, too. Of a limit that is another value of the configuration its key is named.
inline void check_range(std::string_view key, double value, double low, double high,
                        std::string_view key_of_high) {
    if (!(value >= low && value <= high))
        refuse(key, text_of(value),
               text_of(low) + ".." + text_of(high) + " (" + std::string(key_of_high) + ")");
}

// Refuses NaN, too.
inline void check_range(std::string_view key, double value, double low, double high) {
    if (!(value >= low && value <= high))
        refuse(key, text_of(value), text_of(low) + ".." + text_of(high));
}

}  // namespace wip
