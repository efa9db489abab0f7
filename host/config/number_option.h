// SPDX-License-Identifier: GPL-3.0-or-later
// A number on the command line, by the rule of every other number (types/number_text.h). CLI11 by
// itself takes 010 for eight, 0x10 for sixteen, and finds NaN within every range.
#pragma once

#include <CLI/CLI.hpp>
#include <array>
#include <charconv>
#include <limits>
#include <string>

#include "types/number_text.h"

namespace wip::config {

template <class Number>
std::string plain_text(Number value) {
    std::array<char, 64> text{};
    return {text.data(), std::to_chars(text.data(), text.data() + text.size(), value).ptr};
}

// A validator for `option->transform()` that accepts `low` to `high` inclusive, or all values of
// the type. CLI11 reads the value afterwards from the text that the validator returns.
template <class Number>
CLI::Validator number_in(Number low = std::numeric_limits<Number>::lowest(),
                         Number high = std::numeric_limits<Number>::max()) {
    return CLI::Validator(
        [low, high](std::string& text) -> std::string {
            const auto value = read_number<Number>(text);
            if (!value || *value < low || *value > high)
                return "'" + text + "' is not valid; valid: a" +
                       (std::is_integral_v<Number> ? " whole number " : " number ") +
                       plain_text(low) + " to " + plain_text(high);
            text = plain_text(*value);
            return {};
        },
        "", "");
}

}  // namespace wip::config
