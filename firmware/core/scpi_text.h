// SPDX-License-Identifier: GPL-3.0-or-later
// The words of a program message (IEEE 488.2, chapter 7; SCPI-99, volume 1, chapter 6): headers
// against patterns, parameters.
//
// A pattern is written as in a manual: "INPut#:ATTenuation", "SYSTem:ERRor[:NEXT]". Capitals are
// the short form, `#` a number behind the word (1 if there is none), brackets a node that may be
// left out.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "core/error_queue.h"

namespace wip::attenuator {

constexpr char upper(char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; }
constexpr bool is_letter(char c) { return upper(c) >= 'A' && upper(c) <= 'Z'; }
constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }
// White space of IEEE 488.2: every control character but the end of the message.
constexpr bool is_blank(char c) { return static_cast<unsigned char>(c) <= ' '; }

std::string_view trimmed(std::string_view text);
// Whether `word` is the short or the long form of one word of a pattern.
bool is_form_of(std::string_view word, std::string_view pattern);

struct header_match {
    bool matches = false;
    int suffix = 1;  // number behind the node with #; numbers above 999 become 1000
};
// `header` without the question mark.
header_match match_header(std::string_view header, std::string_view pattern);

// A number with up to three decimals, in thousandths, rounded; beyond +-10^12 it stays there.
struct parameter {
    enum class kind : std::uint8_t { number, word, string } is = kind::word;
    std::int64_t thousandths = 0;
    std::string_view suffix;  // unit behind a number
    std::string_view text;    // text of a word or a string
};
struct read_parameter {
    scpi_error error = scpi_error::none;
    parameter value;
    std::string_view rest;  // text behind the parameter, without leading blanks
};
read_parameter next_parameter(std::string_view text);

}  // namespace wip::attenuator
