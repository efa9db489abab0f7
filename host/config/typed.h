// SPDX-License-Identifier: GPL-3.0-or-later
// Settings as typed values: what the structs that the build makes of the table of settings
// (settings/configuration.h) consist of beside numbers, texts and lists.
//
//   choice            an enum, whose words are words_of<Enum>
//   number, or word   number_or_word<Enum>; std::optional<number> where there is one word only
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "config/schema.h"

namespace wip::config {

// The words of a choice in the order of the table, which is that of its enumerators.
template <class Choice>
inline constexpr std::array<std::string_view, 0> words_of{};

template <class Choice>
constexpr std::string_view text_of(Choice c) {
    return words_of<Choice>.at(static_cast<std::size_t>(c));
}

// The text has been checked.
template <class Choice>
Choice choice(std::string_view text) {
    const auto& words = words_of<Choice>;
    const auto at = std::find(words.begin(), words.end(), text);
    if (at == words.end()) throw std::logic_error("settings: no choice " + std::string(text));
    return static_cast<Choice>(at - words.begin());
}

template <class Word>
struct number_or_word {
    std::optional<double> number;
    Word word{};  // the word, if there is no number
    bool is(Word w) const { return !number && word == w; }
};

template <class Word>
number_or_word<Word> number_or_word_of(const settings& s, const std::string& path) {
    const auto number = s.number(path);
    return {number, number ? Word{} : choice<Word>(s.text(path))};
}

template <class Number>
std::optional<Number> optional_number(const settings& s, const std::string& path) {
    const auto number = s.number(path);
    return number ? std::optional(static_cast<Number>(*number)) : std::nullopt;
}

template <class Number>
std::vector<Number> list_of(const settings& s, const std::string& path) {
    std::vector<Number> all;
    for (const double number : s.numbers(path)) all.push_back(static_cast<Number>(number));
    return all;
}

// The value of another enum that stands for a choice: `values` has one for each choice, in the
// order of the table. Another choice in the table does not compile until it has a value here.
template <class Choice, class Value, class... Values>
constexpr Value translated(Choice c, Value first, Values... rest) {
    static_assert(1 + sizeof...(rest) == words_of<Choice>.size(), "one value for each choice");
    const std::array<Value, 1 + sizeof...(rest)> values{first, rest...};
    return values.at(static_cast<std::size_t>(c));
}

}  // namespace wip::config
