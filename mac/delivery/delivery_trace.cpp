// SPDX-License-Identifier: GPL-3.0-or-later
#include "delivery/delivery_trace.h"

#include <algorithm>
#include <charconv>
#include <stdexcept>
#include <string>
#include <system_error>

namespace wip::delivery {
namespace {

constexpr std::size_t longest_shown = 40;

[[noreturn]] void refuse_line(std::size_t number, std::string_view line, const std::string& valid) {
    std::string shown;
    for (const char c : line.substr(0, longest_shown)) shown += c >= ' ' && c <= '~' ? c : '?';
    throw std::invalid_argument("line " + std::to_string(number) + " is '" + shown +
                                "'; valid: " + valid);
}

std::string up_to(std::int64_t most) { return "0.." + std::to_string(most); }

// Takes a number of at least 0, and the spaces after it, off the front of the line.
template <class Number>
bool take_number(std::string_view& line, Number& value) {
    if (line.empty() || line.front() < '0' || line.front() > '9') return false;
    const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), value);
    if (error != std::errc()) return false;
    line.remove_prefix(static_cast<std::size_t>(end - line.data()));
    if (line.empty()) return true;
    const auto next = line.find_first_not_of(" \t");
    if (next == 0) return false;
    line.remove_prefix(std::min(line.size(), next));
    return true;
}

// The lines of a text, with their numbers.
class lines_of {
public:
    explicit lines_of(std::string_view text) : rest_(text) {}
    bool next(std::string_view& line) {
        if (rest_.empty()) return false;
        if (++number_ > most_lines)
            throw std::invalid_argument("has more than " + std::to_string(most_lines) + " lines");
        const auto end = rest_.find('\n');
        line = rest_.substr(0, end);
        rest_.remove_prefix(end == std::string_view::npos ? rest_.size() : end + 1);
        if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
        return true;
    }
    std::size_t number() const { return number_; }

private:
    std::string_view rest_;
    std::size_t number_ = 0;
};

void add_opportunity(delivery_trace& to, std::size_t number, std::string_view line) {
    auto& all = to.opportunities_ms;
    std::string_view rest = line;
    std::int64_t ms = 0;
    if (!take_number(rest, ms) || !rest.empty() || ms > latest_ms ||
        (!all.empty() && ms < all.back()))
        refuse_line(
            number, line,
            "one whole time in ms, " + up_to(latest_ms) + ", that is not before the line above");
    all.push_back(ms);
}

void add_train(delivery_trace& to, std::size_t number, std::string_view line) {
    std::string_view rest = line;
    train t;
    if (!take_number(rest, t.at_ms) || t.at_ms > latest_ms ||
        (!to.trains.empty() && t.at_ms < to.trains.back().at_ms))
        refuse_line(
            number, line,
            "a whole time in ms, " + up_to(latest_ms) + ", that is not before the line above");
    if (!take_number(rest, t.delay_ms) || !(t.delay_ms <= longest_delay_ms))
        refuse_line(number, line, "a delay of 0..60000 ms after the time");
    while (!rest.empty()) {
        std::int64_t ms = 0;
        if (!take_number(rest, ms) || ms > latest_ms || t.after_ms.size() == most_in_train ||
            (!t.after_ms.empty() && ms < t.after_ms.back()))
            refuse_line(number, line,
                        "up to " + std::to_string(most_in_train) +
                            " opportunities after time and delay, in whole ms, none before the one "
                            "in front");
        t.after_ms.push_back(ms);
    }
    to.trains.push_back(std::move(t));
}

}  // namespace

delivery_trace read_delivery_trace(std::string_view text) {
    delivery_trace found;
    lines_of lines(text);
    bool has_trains = false;
    for (std::string_view line; lines.next(line);) {
        if (lines.number() == 1) has_trains = line.find_first_of(" \t") != std::string_view::npos;
        if (has_trains)
            add_train(found, lines.number(), line);
        else
            add_opportunity(found, lines.number(), line);
    }
    if (has_trains && found.trains.back().at_ms == found.trains.front().at_ms)
        throw std::invalid_argument(
            "all its lines have the same time; valid: lines of at least two times");
    if (!has_trains && (found.opportunities_ms.empty() || found.opportunities_ms.back() == 0))
        throw std::invalid_argument(
            "has a duration of 0 ms; valid: at least one opportunity after 0 ms");
    return found;
}

}  // namespace wip::delivery
