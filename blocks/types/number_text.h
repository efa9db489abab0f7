// SPDX-License-Identifier: GPL-3.0-or-later
// A number that somebody wrote, read by one rule wherever it is read: decimal, all of the text, and
// a value that its type can hold. What reads a text once keeps the value: a second reader with
// other limits is how a number that one has let pass ends the other.
#pragma once

#include <charconv>
#include <cmath>
#include <concepts>
#include <optional>
#include <string_view>

namespace wip {

// Reads a number. Nothing for a text that is no number, is not finite, or is out of range; a real
// number below the smallest one is out of range, a subnormal one is not. Minus zero is read as
// zero, so that a division by it does not give a negative infinity.
template <class Number>
requires std::integral<Number> || std::floating_point<Number> std::optional<Number> read_number(
    std::string_view text)
noexcept {
    if (text.starts_with('+') && !text.starts_with("+-")) text.remove_prefix(1);
    Number value{};
    const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (code != std::errc{} || end != text.data() + text.size()) return std::nullopt;
    if constexpr (std::floating_point<Number>) {
        if (!std::isfinite(value)) return std::nullopt;
        value += Number{0};
    }
    return value;
}

// 010 and -007.5: decimal here, octal for others. What reads a setting refuses it.
inline bool has_leading_zero(std::string_view text) noexcept {
    if (text.starts_with('+') || text.starts_with('-')) text.remove_prefix(1);
    return text.size() > 1 && text[0] == '0' && text[1] >= '0' && text[1] <= '9';
}

// A number as a setting has it: as read_number(), and nothing for one with a leading zero.
template <class Number>
std::optional<Number> read_setting(std::string_view text) noexcept {
    if (has_leading_zero(text)) return std::nullopt;
    return read_number<Number>(text);
}

}  // namespace wip
