// SPDX-License-Identifier: GPL-3.0-or-later
// The scalars of a YAML document by the core schema of YAML 1.2 (chapter 10.3): a plain (unquoted)
// one is null, a boolean, a number or a text, any other one a text. YAML 1.1 knows more numbers,
// and others by the same text: there 010 is 8, 1:30 is 90 and 1_000 is 1000. The author of one of
// those may have meant either, so it is refused, with what to write instead. Numbers that are not
// decimal (0x1F, 0o17) are refused as well. The numbers that are not finite (.inf, .nan), which no
// setting takes, are texts here, and so are yes, no, on, off and dates, which YAML 1.1 reads
// differently.
//
// host/cli/openwip_cli/text.py reads by the same rules; tests with tests/vectors/yaml_scalars.tsv
// check both.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "types/number_text.h"
#include "types/one_line.h"

namespace wip::yaml {

enum class scalar : std::uint8_t { null, boolean, number, text, refused };

namespace detail {

inline bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Takes the characters of `set` from the front of `text`; returns how many there were.
inline std::size_t take(std::string_view& text, std::string_view set) {
    const std::size_t n = std::min(text.find_first_not_of(set), text.size());
    text.remove_prefix(n);
    return n;
}

inline std::string_view without_sign(std::string_view text) {
    if (text.starts_with('+') || text.starts_with('-')) text.remove_prefix(1);
    return text;
}

// Whether the text is a number as YAML 1.2 writes it; if `underscores`, '_' may be among its
// digits, as in YAML 1.1.
inline bool is_decimal(std::string_view text, bool underscores) {
    text = without_sign(text);
    const std::string_view digits = underscores ? "0123456789_" : "0123456789";
    if (text.empty() || (!is_digit(text.front()) && text.front() != '.')) return false;
    std::size_t n = take(text, digits);
    if (text.starts_with('.')) {
        text.remove_prefix(1);
        n += take(text, digits);
    }
    if (n == 0) return false;
    if (text.starts_with('e') || text.starts_with('E')) {
        text = without_sign(text.substr(1));
        if (take(text, digits) == 0) return false;
    }
    return text.empty();
}

// Whether the text is a number such as 0x1F, 0o17 or 0b11, with or without '_'.
inline bool is_of_another_base(std::string_view text) {
    text = without_sign(text);
    if (text.size() < 3 || text[0] != '0') return false;
    const char base = static_cast<char>(text[1] | 0x20);
    text.remove_prefix(2);
    take(text, base == 'x'   ? "0123456789abcdefABCDEF_"
               : base == 'o' ? "01234567_"
               : base == 'b' ? "01_"
                             : "");
    return text.empty();
}

// Whether the text is a number of base 60, such as 1:30 or 1:30:00.5.
inline bool is_sexagesimal(std::string_view text) {
    text = without_sign(text);
    if (text.empty() || !is_digit(text.front())) return false;
    take(text, "0123456789_");
    std::size_t parts = 0;
    for (; text.starts_with(':'); ++parts) {
        text.remove_prefix(1);
        const bool two = text.size() > 1 && is_digit(text[1]);
        if (text.empty() || !is_digit(text.front()) || (two && text.front() > '5')) return false;
        text.remove_prefix(two ? 2 : 1);
    }
    if (parts > 0 && text.starts_with('.')) {
        text.remove_prefix(1);
        take(text, "0123456789_");
    }
    return parts > 0 && text.empty();
}

template <std::size_t n>
bool is_among(std::string_view text, const std::array<std::string_view, n>& words) {
    return std::find(words.begin(), words.end(), text) != words.end();
}

}  // namespace detail

// Returns what is wrong with a plain scalar and what to write instead; empty: nothing is wrong.
inline std::string refusal(std::string_view plain) {
    using namespace detail;
    const auto valid = [&](const std::string& instead) {
        return "; valid: " + instead + ", or " + shown("'" + std::string(plain) + "'") +
               " in quotes for a text";
    };
    if (is_of_another_base(plain))
        return "is a number that is not decimal" + valid("a decimal number");
    if (is_sexagesimal(plain))
        return "is a number of base 60 in YAML 1.1 and a text in YAML 1.2" +
               valid("a decimal number");
    if (!is_decimal(plain, true)) return "";
    if (plain.find('_') != std::string_view::npos) {
        std::string digits(plain);
        std::erase(digits, '_');
        return "is a number in YAML 1.1 and a text in YAML 1.2" + valid(shown(digits));
    }
    if (has_leading_zero(plain)) {
        const std::size_t sign = plain.size() - without_sign(plain).size();
        std::string digits(plain);
        while (has_leading_zero(digits)) digits.erase(sign, 1);
        return "begins with 0, which means octal in YAML 1.1 and nothing in YAML 1.2" +
               valid(shown(digits));
    }
    if (!read_number<double>(plain))
        return "is a number that is too large or too small" + valid("a number of double precision");
    return "";
}

inline scalar meaning(std::string_view plain) {
    using namespace detail;
    constexpr std::array<std::string_view, 5> nulls{"", "~", "null", "Null", "NULL"};
    constexpr std::array<std::string_view, 6> booleans{"true",  "True",  "TRUE",
                                                       "false", "False", "FALSE"};
    if (is_among(plain, nulls)) return scalar::null;
    if (is_among(plain, booleans)) return scalar::boolean;
    if (!refusal(plain).empty()) return scalar::refused;
    return is_decimal(plain, false) ? scalar::number : scalar::text;
}

}  // namespace wip::yaml
