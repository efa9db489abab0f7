// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/scpi_text.h"

#include <algorithm>
#include <cstddef>

namespace wip::attenuator {

std::string_view trimmed(std::string_view text) {
    while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
    while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
    return text;
}

bool is_form_of(std::string_view word, std::string_view pattern) {
    const auto same = [](std::string_view a, std::string_view b) {
        return std::ranges::equal(a, b, [](char x, char y) { return upper(x) == upper(y); });
    };
    const auto short_form =
        std::ranges::find_if(pattern, [](char c) { return c >= 'a' && c <= 'z'; });
    return same(word, pattern) ||
           same(word, pattern.substr(0, static_cast<std::size_t>(short_form - pattern.begin())));
}

namespace {

constexpr int largest_suffix = 1000;  // suffix of a header, such as OUTPut8

// One node of a header against one of a pattern.
header_match match_node(std::string_view word, std::string_view pattern) {
    header_match m;
    if (!pattern.empty() && pattern.back() == '#') {
        pattern.remove_suffix(1);
        const std::size_t letters =
            static_cast<std::size_t>(std::ranges::find_if(word, is_digit) - word.begin());
        if (letters < word.size()) {
            m.suffix = 0;
            for (const char c : word.substr(letters)) {
                if (!is_digit(c)) return {};
                m.suffix = std::min(m.suffix * 10 + (c - '0'), largest_suffix);
            }
            word = word.substr(0, letters);
        }
    }
    m.matches = is_form_of(word, pattern);
    return m;
}

}  // namespace

header_match match_header(std::string_view header, std::string_view pattern) {
    header_match all;
    bool more = true;  // whether the header has further nodes
    while (!pattern.empty()) {
        const bool optional = pattern.front() == '[';
        if (optional) pattern.remove_prefix(1);
        if (pattern.front() == ':') pattern.remove_prefix(1);
        const std::size_t node_end = std::min(pattern.find_first_of(":[]"), pattern.size());
        const std::string_view node = pattern.substr(0, node_end);
        pattern.remove_prefix(node_end);
        if (!pattern.empty() && pattern.front() == ']') pattern.remove_prefix(1);
        const std::size_t colon = header.find(':');
        const header_match m = more ? match_node(header.substr(0, colon), node) : header_match{};
        if (!m.matches) {
            if (optional) continue;
            return {};
        }
        if (node.back() == '#') all.suffix = m.suffix;
        more = colon != std::string_view::npos;
        header = more ? header.substr(colon + 1) : std::string_view{};
    }
    all.matches = !more;
    return all;
}

namespace {

constexpr std::int64_t most = 1'000'000'000'000;
constexpr std::size_t most_digits = 255;  // IEEE 488.2, 7.7.2.4.1
constexpr int largest_exponent = 32'000;

std::int64_t scaled(std::int64_t digits, int exponent) {
    for (; exponent > 0 && digits > 0 && digits < most; --exponent) digits *= 10;
    for (; exponent < -1 && digits > 0; ++exponent) digits /= 10;
    if (exponent == -1) digits = (digits + 5) / 10;
    return std::min(digits, most);
}

read_parameter read_number(std::string_view text) {
    read_parameter r;
    r.value.is = parameter::kind::number;
    std::size_t at = 0;
    const auto peek = [&] { return at < text.size() ? text[at] : '\0'; };
    const auto sign = [&] {
        const bool negative = peek() == '-';
        if (negative || peek() == '+') ++at;
        return negative;
    };
    const bool negative = sign();
    std::int64_t digits = 0;
    int exponent = 3;  // decimal exponent of `digits`, which counts thousandths
    std::size_t nof_digits = 0;
    bool fraction = false;
    for (; is_digit(peek()) || (peek() == '.' && !fraction); ++at) {
        if (peek() == '.') {
            fraction = true;
            continue;
        }
        if (++nof_digits > most_digits) return {scpi_error::too_many_digits, {}, {}};
        if (digits < most)
            digits = digits * 10 + (peek() - '0');
        else
            ++exponent;
        if (fraction) --exponent;
    }
    if (nof_digits == 0) return {scpi_error::numeric_data, {}, {}};
    // "2E3", but "2 EX" has a suffix.
    std::size_t behind = at;
    while (behind < text.size() && is_blank(text[behind])) ++behind;
    if (behind < text.size() && upper(text[behind]) == 'E' && behind + 1 < text.size() &&
        !is_letter(text[behind + 1])) {
        at = behind + 1;
        while (is_blank(peek()) && at < text.size()) ++at;
        const bool down = sign();
        if (!is_digit(peek())) return {scpi_error::numeric_data, {}, {}};
        int e = 0;
        for (; is_digit(peek()); ++at) e = std::min(e * 10 + (peek() - '0'), largest_exponent + 1);
        if (e > largest_exponent) return {scpi_error::exponent_too_large, {}, {}};
        exponent += down ? -e : e;
    }
    const std::int64_t size = scaled(digits, exponent);
    r.value.thousandths = negative ? -size : size;
    text = trimmed(text.substr(at));
    at = 0;
    while (is_letter(peek())) ++at;
    r.value.suffix = text.substr(0, at);
    r.rest = trimmed(text.substr(at));
    return r;
}

read_parameter read_string(std::string_view text) {
    const char quote = text.front();
    for (std::size_t at = 1; at < text.size(); ++at) {
        if (text[at] != quote) continue;
        if (at + 1 < text.size() && text[at + 1] == quote) {
            ++at;
            continue;
        }
        read_parameter r;
        r.value.is = parameter::kind::string;
        r.value.text = text.substr(1, at - 1);
        r.rest = trimmed(text.substr(at + 1));
        return r;
    }
    return {scpi_error::invalid_string, {}, {}};
}

}  // namespace

read_parameter next_parameter(std::string_view text) {
    text = trimmed(text);
    if (text.empty()) return {scpi_error::missing_parameter, {}, {}};
    const char c = text.front();
    if (is_digit(c) || c == '+' || c == '-' || c == '.') return read_number(text);
    if (c == '"' || c == '\'') return read_string(text);
    if (!is_letter(c)) return {scpi_error::syntax, {}, {}};
    std::size_t at = 0;
    while (at < text.size() && (is_letter(text[at]) || is_digit(text[at]) || text[at] == '_')) ++at;
    read_parameter r;
    r.value.text = text.substr(0, at);
    r.rest = trimmed(text.substr(at));
    return r;
}

}  // namespace wip::attenuator
