// SPDX-License-Identifier: GPL-3.0-or-later
// Checking single values, and what the table of keys can say about itself. Reading whole documents
// is in document.cpp.
#include "config/schema.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numeric>
#include <optional>

#include "config/item_list.h"
#include "types/not_valid.h"
#include "types/number_text.h"

namespace wip::config {
namespace {

std::string number(double v) {
    char text[400];  // fixed notation: YAML readers take 1e+05 for a word
    const auto end = std::to_chars(text, text + sizeof text, v, std::chars_format::fixed).ptr;
    return std::string(text, end);
}

std::string join(const std::vector<std::string>& words) {
    std::string all;
    for (const auto& w : words) all += (all.empty() ? "" : ", ") + w;
    return all;
}

std::optional<bool> boolean(std::string_view text) {
    for (const auto* word : {"on", "true", "True", "TRUE", "yes"})
        if (text == word) return true;
    for (const auto* word : {"off", "false", "False", "FALSE", "no"})
        if (text == word) return false;
    return std::nullopt;
}

// The word "on" or "off" for any of the words of a boolean, if "on" is among the words of the
// setting.
std::string as_word(const std::vector<std::string>& words, const std::string& value) {
    if (std::find(words.begin(), words.end(), "on") == words.end()) return value;
    const auto b = boolean(value);
    return !b ? value : *b ? "on" : "off";
}

// The parts between commas, without the spaces around them.
std::vector<std::string_view> between_commas(std::string_view text) {
    std::vector<std::string_view> parts;
    while (!text.empty()) {
        const auto comma = std::min(text.find(','), text.size());
        std::string_view part = text.substr(0, comma);
        text.remove_prefix(std::min(comma + 1, text.size()));
        while (part.starts_with(' ')) part.remove_prefix(1);
        while (part.ends_with(' ')) part.remove_suffix(1);
        parts.push_back(part);
    }
    return parts;
}

bool in_range(const key& k, double x) {
    return x >= k.lowest && x <= k.highest && (x <= 0 || x >= k.least);
}

std::optional<std::string> canonical_number(const key& k, std::string_view text) {
    const auto x = read_setting<double>(text);
    if (!x || !in_range(k, *x) || (k.whole && *x != std::floor(*x))) return std::nullopt;
    return number(*x);
}

// Other text would not read back from YAML as the same.
bool is_one_line(const std::string& value) { return printable(value) == value; }

// Canonical text, or nullopt when the value is not valid for the key.
std::optional<std::string> canonical(const key& k, const std::string& value) {
    switch (k.type) {
        case kind::boolean: {
            const auto b = boolean(value);
            if (!b) return std::nullopt;
            return *b ? "on" : "off";
        }
        case kind::integer: {
            const auto n = read_setting<std::int64_t>(value);
            if (!n || !in_range(k, static_cast<double>(*n))) return std::nullopt;
            return std::to_string(*n);
        }
        case kind::real: {
            const auto x = read_setting<double>(value);
            if (!x || !in_range(k, *x)) return std::nullopt;
            return number(*x);
        }
        case kind::number_or_word: {
            const std::string word = as_word(k.words, value);
            if (std::find(k.words.begin(), k.words.end(), word) != k.words.end()) return word;
            return canonical_number(k, value);
        }
        case kind::numbers: {
            std::string all;
            const auto parts = between_commas(value);
            if (parts.size() > k.most) return std::nullopt;
            for (const auto part : parts) {
                const auto one = canonical_number(k, part);
                if (!one) return std::nullopt;
                all += (all.empty() ? "" : ",") + *one;
            }
            return all;
        }
        case kind::tree:
            return canonical_items(*k.items, value);
        case kind::choice: {
            const std::string word = as_word(k.choices, value);
            if (std::find(k.choices.begin(), k.choices.end(), word) == k.choices.end())
                return std::nullopt;
            return word;
        }
        case kind::text:
            if (!is_one_line(value) || (k.check && !k.check(value).empty())) return std::nullopt;
            return value;
    }
    return std::nullopt;
}

std::size_t edit_distance(std::string_view a, std::string_view b) {
    std::vector<std::size_t> row(b.size() + 1);
    std::iota(row.begin(), row.end(), std::size_t{0});
    for (std::size_t i = 0; i < a.size(); ++i) {
        std::size_t diagonal = row[0];
        row[0] = i + 1;
        for (std::size_t j = 0; j < b.size(); ++j) {
            const std::size_t substituted = diagonal + (a[i] == b[j] ? 0 : 1);
            diagonal = row[j + 1];
            row[j + 1] = std::min({row[j] + 1, diagonal + 1, substituted});
        }
    }
    return row.back();
}

// NAME.*.KEY is "NAME." and ".KEY", NAME[].KEY is "NAME[" and "].KEY"; of any other key nothing.
std::pair<std::string, std::string> around_entry(const std::string& path) {
    if (const auto at = path.find(".*."); at != std::string::npos)
        return {path.substr(0, at + 1), path.substr(at + 2)};
    if (const auto at = path.find("[]."); at != std::string::npos)
        return {path.substr(0, at + 1), path.substr(at + 1)};
    return {};
}
bool is_pattern(const std::string& path) { return !around_entry(path).first.empty(); }

}  // namespace

std::string valid_values(const key& k) {
    std::string rule;
    switch (k.type) {
        case kind::boolean:
            return "on or off";
        case kind::choice:
            return "one of: " + join(k.choices);
        case kind::text:
            return k.check ? k.check("") : "text";
        case kind::tree:
            return valid_items(*k.items);
        case kind::integer:
            rule = "an integer";
            break;
        case kind::real:
        case kind::number_or_word:
            rule = k.whole ? "an integer" : "a number";
            break;
        case kind::numbers:
            rule = "up to " + std::to_string(k.most) + (k.whole ? " integers" : " numbers");
            break;
    }
    if (std::isfinite(k.lowest) && std::isfinite(k.highest))
        rule.append(k.least > 0 ? " 0, or " : " ")
            .append(number(k.least > 0 ? k.least : k.lowest))
            .append("..")
            .append(number(k.highest));
    else if (std::isfinite(k.lowest))
        rule.append(" from ").append(number(k.lowest));
    if (!k.unit.empty()) rule.append(" ").append(k.unit);
    if (!k.zero.empty()) rule += " (0: " + k.zero + ")";
    if (!k.words.empty()) rule += ", or " + join(k.words);
    if (k.type == kind::numbers) rule += ", separated by commas";
    return rule;
}

// A text that is empty would leave the sentence without its value.
static std::string shown_value(const std::string& value) {
    return value.empty() ? "(nothing)" : shown(value);
}

std::string did_you_mean(std::string_view word, const std::vector<std::string>& candidates) {
    std::string best;
    std::size_t best_distance = std::max<std::size_t>(2, word.size() / 4) + 1;
    for (const auto& c : candidates) {
        const std::size_t d = edit_distance(word, c);
        if (d < best_distance) best_distance = d, best = c;
    }
    return best;
}

settings::settings(const std::vector<key>& table) : table_(&table) {
    for (const auto& k : table) {
        if (k.required || is_pattern(k.path)) continue;
        const auto value = canonical(k, k.fallback);
        if (!value) throw std::logic_error("schema: the default of " + k.path + " is not valid");
        values_[k.path] = {*value, "default"};
    }
}

// NAME.*.KEY, NAME[].KEY: what stands before and behind the name or number of the entry.
const key* settings::find(const std::string& path) const {
    for (const auto& k : *table_) {
        if (k.path == path) return &k;
        const auto [head, tail] = around_entry(k.path);
        if (!head.empty() && path.size() > head.size() + tail.size() && path.starts_with(head) &&
            path.ends_with(tail))
            return &k;
    }
    return nullptr;
}

const key& settings::declared(const std::string& path, const std::string& origin) const {
    if (const key* k = find(path)) return *k;
    std::vector<std::string> all;
    std::vector<std::string> last_words;
    for (const auto& k : *table_) all.push_back(k.path);
    std::string hint = did_you_mean(path, all);
    // `bins` instead of `link.bins`
    for (const auto& k : *table_)
        if (hint.empty() && k.path.ends_with("." + path)) hint = k.path;
    if (!hint.empty())
        throw error(origin + ": " + shown(path) + ": unknown key; did you mean " + hint + "?");
    std::vector<std::string> nearby;  // the keys of the same section, else the top level
    const auto dot = path.find('.');
    const std::string section = dot == std::string::npos ? "" : path.substr(0, dot + 1);
    for (const auto& k : *table_) {
        const auto d = k.path.find('.');
        if (!section.empty() && k.path.starts_with(section)) nearby.push_back(k.path);
        if (d == std::string::npos)
            last_words.push_back(k.path);
        else if (last_words.empty() || last_words.back() != k.path.substr(0, d))
            last_words.push_back(k.path.substr(0, d));
    }
    throw error(origin + ": " + shown(path) +
                ": unknown key; valid: " + join(nearby.empty() ? last_words : nearby));
}

void settings::put(const std::string& path, const std::string& value, const std::string& origin) {
    const key& k = declared(path, origin);
    if (const auto [head, tail] = around_entry(k.path); !head.empty()) {
        const auto entry = path.substr(0, path.size() - tail.size() + tail.find('.'));
        const auto& there = entries(head.substr(0, head.size() - 1));
        if (std::find(there.begin(), there.end(), entry) == there.end())
            throw error(origin + ": " + shown(path) + ": no such entry; valid: " +
                        (there.empty() ? "none here" : shown(join(there))));
    }
    const auto text = canonical(k, value);
    if (!text) {
        const std::string rule = k.type != kind::text  ? valid_values(k)
                                 : !is_one_line(value) ? "one line of UTF-8 text"
                                 : k.check             ? k.check(value)
                                                       : valid_values(k);
        std::string message = origin + ": " + wip::not_valid(shown(path), shown_value(value), rule);
        if (k.type == kind::choice)
            if (const auto hint = did_you_mean(value, k.choices); !hint.empty())
                message += "; did you mean " + hint + "?";
        throw error(message);
    }
    values_[path] = {*text, origin};
}

void settings::add_entry(const std::string& name, const std::string& path,
                         const std::string& origin) {
    auto& known = entries_[name];
    if (std::find(known.begin(), known.end(), path) != known.end()) return;
    known.push_back(path);
    for (const auto& [k, own] : keys_of(name, path))
        if (!k->required) put(own, k->fallback, "default");
    values_[path] = {"", origin};
}

std::vector<std::pair<const key*, std::string>> settings::keys_of(const std::string& name,
                                                                  const std::string& path) const {
    std::vector<std::pair<const key*, std::string>> all;
    for (const auto& k : *table_) {
        const auto [head, tail] = around_entry(k.path);
        if (head == name + path[name.size()])
            all.emplace_back(&k, path + tail.substr(tail.find('.')));
    }
    return all;
}

void settings::set_default(const std::string& path, const std::string& value) {
    if (values_.at(path).origin == "default") put(path, value, "default");
}

void settings::replace(const std::string& path, const std::string& value) {
    put(path, value, std::string(values_.at(path).origin));
}

void settings::finish() const {
    for (const auto& k : *table_)
        if (k.required && !is_pattern(k.path) && !values_.contains(k.path))
            throw refuse(k.path + " is missing; valid: " + valid_values(k));
    for (const auto& [name, paths] : entries_)
        for (const auto& path : paths)
            for (const auto& [k, own] : keys_of(name, path))
                if (k->required && !values_.contains(own))
                    throw error(values_.at(path).origin + ": " + shown(own) +
                                " is missing; valid: " + k->doc);
}

const std::string& settings::text(const std::string& path) const {
    const auto found = values_.find(path);
    if (found == values_.end()) throw std::logic_error("settings: no value of " + path);
    return found->second.text;
}
std::int64_t settings::integer(const std::string& path) const {
    return read_number<std::int64_t>(text(path)).value();
}
double settings::real(const std::string& path) const {
    return read_number<double>(text(path)).value();
}
bool settings::flag(const std::string& path) const { return boolean(text(path)).value(); }

std::optional<double> settings::number(const std::string& path) const {
    return read_number<double>(text(path));
}
std::vector<double> settings::numbers(const std::string& path) const {
    std::vector<double> all;
    for (const auto part : between_commas(text(path)))
        all.push_back(read_number<double>(part).value());
    return all;
}
std::vector<impairment> settings::items(const std::string& path) const {
    return read_items(*find(path)->items, text(path));
}
bool settings::given(const std::string& path) const {
    const auto found = values_.find(path);
    return found != values_.end() && found->second.origin != "default";
}
const std::vector<std::string>& settings::entries(const std::string& name) const {
    static const std::vector<std::string> none;
    const auto found = entries_.find(name);
    return found == entries_.end() ? none : found->second;
}

error settings::not_valid(const std::string& path, const std::string& valid) const {
    const auto& s = values_.at(path);
    return error(s.origin + ": " + wip::not_valid(shown(path), shown_value(s.text), valid));
}

error settings::refuse(const std::string& path, const std::string& why) const {
    const auto& s = values_.at(path);
    const std::string key = s.origin + ": " + shown(path);
    // A sentence about this key names it and its value already.
    if (why.starts_with(path + " is ")) return error(s.origin + ": " + why);
    // An error about a file begins with the file's name, which is the value.
    if (!s.text.empty() && why.starts_with(s.text + ": ")) return error(key + ": " + why);
    return error(key + " is " + shown_value(s.text) + ": " + why);
}

error settings::refuse(const std::string& why) const { return error(file_ + ": " + why); }

std::vector<std::string> settings::format() const {
    std::vector<std::string> lines;
    for (const auto& k : *table_)
        if (k.format) lines.push_back(k.path + " = " + text(k.path));
    return lines;
}

std::string settings::misfit(const std::vector<std::string>& theirs) const {
    const auto ours = format();
    for (std::size_t i = 0; i < std::max(ours.size(), theirs.size()); ++i) {
        const std::string here = i < ours.size() ? ours[i] : "nothing";
        const std::string there = i < theirs.size() ? theirs[i].substr(0, 200) : "nothing";
        if (here != there)
            return "here is " + here + ", there " + there + "; valid: the same at both ends";
    }
    return "";
}

void settings::check_station(const std::string& path, std::string_view station) const {
    const std::string& live = declared(path, "configure").live;
    if (live.find(station) != std::string::npos) return;
    throw refuse(path, std::string("it does not take effect here; valid: at ") +
                           (live == "base"       ? "the base station"
                            : live == "terminal" ? "the terminal"
                                                 : live));
}

std::vector<std::string> settings::changed_from(const settings& other) const {
    std::vector<std::string> paths;
    for (const auto& k : *table_) {
        const auto mine = values_.find(k.path);
        const auto theirs = other.values_.find(k.path);
        const bool same = mine == values_.end() ? theirs == other.values_.end()
                                                : theirs != other.values_.end() &&
                                                      mine->second.text == theirs->second.text;
        if (!same) paths.push_back(k.path);
    }
    return paths;
}

std::string to_markdown(const std::vector<key>& table) {
    std::string out = "| key | default | valid | meaning |\n|---|---|---|---|\n";
    for (const auto& k : table) {
        std::string fallback = k.fallback_doc.empty() ? k.fallback : k.fallback_doc;
        if (k.required) fallback = "(required)";
        out += "| `" + k.path + "` | " + fallback + " | " + valid_values(k) + " | " + k.doc +
               (k.runtime ? " (R)" : "") + " |\n";
    }
    return out;
}

}  // namespace wip::config
