// SPDX-License-Identifier: GPL-3.0-or-later
// Checking single values, and what the table of keys can say about itself. Reading whole documents
// is in document.cpp.
#include "config/schema.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <numeric>
#include <optional>

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
    for (const auto* word : {"on", "true", "yes"})
        if (text == word) return true;
    for (const auto* word : {"off", "false", "no"})
        if (text == word) return false;
    return std::nullopt;
}

// Canonical text, or nullopt when the value is not valid for the key.
std::optional<std::string> canonical(const key& k, const std::string& value) {
    switch (k.type) {
        case kind::boolean: {
            const auto b = boolean(value);
            if (!b) return std::nullopt;
            return *b ? "on" : "off";
        }
        case kind::integer: {
            const auto n = read_number<std::int64_t>(value);
            if (!n || static_cast<double>(*n) < k.lowest || static_cast<double>(*n) > k.highest)
                return std::nullopt;
            return std::to_string(*n);
        }
        case kind::real: {
            const auto x = read_number<double>(value);
            if (!x || *x < k.lowest || *x > k.highest) return std::nullopt;
            return number(*x);
        }
        case kind::choice:
            if (std::find(k.choices.begin(), k.choices.end(), value) == k.choices.end())
                return std::nullopt;
            return value;
        case kind::text:
            if (k.check && !k.check(value).empty()) return std::nullopt;
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
        case kind::integer:
            rule = "an integer";
            break;
        case kind::real:
            rule = "a number";
            break;
    }
    if (std::isfinite(k.lowest) && std::isfinite(k.highest))
        rule.append(" ").append(number(k.lowest)).append("..").append(number(k.highest));
    else if (std::isfinite(k.lowest))
        rule.append(" from ").append(number(k.lowest));
    if (!k.unit.empty()) rule.append(" ").append(k.unit);
    return rule;
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
        if (k.required) continue;
        const auto value = canonical(k, k.fallback);
        if (!value) throw std::logic_error("schema: the default of " + k.path + " is not valid");
        values_[k.path] = {*value, "default"};
    }
}

const key& settings::declared(const std::string& path, const std::string& origin) const {
    std::vector<std::string> all;
    std::vector<std::string> last_words;
    for (const auto& k : *table_) {
        if (k.path == path) return k;
        all.push_back(k.path);
    }
    std::string hint = did_you_mean(path, all);
    // `bins` instead of `link.bins`
    for (const auto& k : *table_)
        if (hint.empty() && k.path.ends_with("." + path)) hint = k.path;
    if (!hint.empty())
        throw error(origin + ": " + path + ": unknown key; did you mean " + hint + "?");
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
    throw error(origin + ": " + path +
                ": unknown key; valid keys: " + join(nearby.empty() ? last_words : nearby));
}

void settings::put(const key& k, const std::string& value, const std::string& origin) {
    const auto text = canonical(k, value);
    if (!text) {
        std::string message = origin + ": " + k.path + " = " +
                              (value.empty() ? "(nothing)" : value) + ": not valid; expected " +
                              (k.type == kind::text && k.check ? k.check(value) : valid_values(k));
        if (k.type == kind::choice)
            if (const auto hint = did_you_mean(value, k.choices); !hint.empty())
                message += "; did you mean " + hint + "?";
        throw error(message);
    }
    values_[k.path] = {*text, origin};
}

void settings::set_default(const std::string& path, const std::string& value) {
    const key& k = declared(path, "default");
    if (values_.at(path).origin == "default") put(k, value, "default");
}

void settings::replace(const std::string& path, const std::string& value) {
    const std::string origin = values_.at(path).origin;
    put(declared(path, origin), value, origin);
}

void settings::finish() const {
    for (const auto& k : *table_)
        if (k.required && !values_.contains(k.path))
            throw error("configuration: " + k.path + ": missing; expected " + valid_values(k));
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

error settings::refuse(const std::string& path, const std::string& why) const {
    const auto& s = values_.at(path);
    return error(s.origin + ": " + path + " = " + s.text + ": " + why);
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
