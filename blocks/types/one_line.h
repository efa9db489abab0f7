// SPDX-License-Identifier: GPL-3.0-or-later
// Words about what somebody wrote, as one line: what was written may hold anything, a line end in
// the middle of a message would be a line of somebody else's, and an escape sequence a command.
#pragma once

#include <cstddef>
#include <string>

namespace wip {

namespace detail {

// Bytes of the UTF-8 character at `i`, or 0 when there is none.
inline std::size_t utf8_length(const std::string& s, std::size_t i) {
    const auto byte = [&](std::size_t k) { return static_cast<unsigned char>(s[k]); };
    const unsigned first = byte(i);
    const std::size_t n = first < 0x80   ? 1
                          : first < 0xc2 ? 0
                          : first < 0xe0 ? 2
                          : first < 0xf0 ? 3
                          : first < 0xf5 ? 4
                                         : 0;
    if (n == 0 || i + n > s.size()) return 0;
    for (std::size_t k = i + 1; k < i + n; ++k)
        if ((byte(k) & 0xc0U) != 0x80) return 0;
    if (n == 3 && ((first == 0xe0 && byte(i + 1) < 0xa0) || (first == 0xed && byte(i + 1) > 0x9f)))
        return 0;
    if (n == 4 && ((first == 0xf0 && byte(i + 1) < 0x90) || (first == 0xf4 && byte(i + 1) > 0x8f)))
        return 0;
    return n;
}

}  // namespace detail

// Control characters and broken UTF-8 become '?'.
inline std::string printable(const std::string& text) {
    std::string out;
    for (std::size_t i = 0; i < text.size();) {
        const std::size_t n = detail::utf8_length(text, i);
        const auto c = static_cast<unsigned char>(text[i]);
        if (n == 0 || c < 0x20 || c == 0x7f) {
            out += '?';
            ++i;
        } else {
            out.append(text, i, n);
            i += n;
        }
    }
    return out;
}

// UTF-8 of at most `longest` bytes: what is longer loses its middle, since a message names the
// place at its beginning and what would be valid at its end.
inline std::string without_middle(const std::string& text, std::size_t longest) {
    constexpr std::size_t dots = 3;
    if (text.size() <= longest || longest < dots) return text;
    const auto continues = [&](std::size_t i) {
        return i < text.size() && (static_cast<unsigned char>(text[i]) & 0xc0U) == 0x80;
    };
    std::size_t head = (longest - dots) * 2 / 5, tail = text.size() - (longest - dots - head);
    while (head > 0 && continues(head)) --head;
    while (continues(tail)) ++tail;
    return text.substr(0, head) + "..." + text.substr(tail);
}

// A message, whose quoted values are shown() already: what is left out is of a long list.
inline constexpr std::size_t longest_line = 600;

inline std::string one_line(const std::string& text, std::size_t longest = longest_line) {
    return without_middle(printable(text), longest);
}

// Something that somebody wrote, as part of a message.
inline std::string shown(const std::string& text) {
    constexpr std::size_t longest_shown = 100;
    return one_line(text, longest_shown);
}

}  // namespace wip
