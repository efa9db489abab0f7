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

// Control characters and broken UTF-8 become '?', and what is longer than `longest` bytes is cut.
inline std::string one_line(const std::string& text, std::size_t longest = 600) {
    std::string out;
    for (std::size_t i = 0; i < text.size() && out.size() < longest;) {
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
    if (out.size() >= longest) out += "...";
    return out;
}

}  // namespace wip
