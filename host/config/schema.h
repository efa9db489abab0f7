// SPDX-License-Identifier: GPL-3.0-or-later
// A configuration is a table of keys: path, type, range or choices, unit, default, meaning. The
// table is data, so that one place checks every value, prints the effective configuration and
// writes the documentation. Layers, later ones over earlier ones:
//
//   defaults -> YAML file -> `--set key.path=value` -> finish() (required keys) -> translation
//
// Every value is checked when it is merged, with the place it came from (file:line or the flag), so
// that an error can name place, key, value and what would be valid in one line.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "types/one_line.h"

namespace wip::config {

// what() is one line: place, key, value, and what would be valid. Programs print it and exit 2.
class error : public std::runtime_error {
public:
    explicit error(const std::string& what) : std::runtime_error(one_line(what)) {}
};

enum class kind : std::uint8_t { boolean, integer, real, text, choice };

// One declared key. Range limits are inclusive.
struct key {
    std::string path;  // "link.bins"
    kind type = kind::text;
    std::string fallback = {};  // default, as in YAML; ignored when required
    std::string doc;
    std::string unit = {};
    double lowest = -std::numeric_limits<double>::infinity();
    double highest = std::numeric_limits<double>::infinity();
    std::vector<std::string> choices = {};
    // For text: empty when valid, else what would be valid.
    std::function<std::string(std::string_view)> check = {};
    std::string fallback_doc = {};  // shown in the documentation instead of `fallback`
    bool required = false;
    bool runtime = false;  // may change in a running process
};

// Human-readable rule of a key: "integer 1..25", "one of: static, best", ...
std::string valid_values(const key& k);

// Nearest of `candidates` by edit distance, or empty when none is near.
std::string did_you_mean(std::string_view word, const std::vector<std::string>& candidates);

struct setting {
    std::string text;    // canonical
    std::string origin;  // "default", "demo.yaml:12", "--set"
};

class settings {
public:
    explicit settings(const std::vector<key>& table);

    // Each throws `error` and leaves the settings as they were before.
    void merge_file(const std::string& path);
    // `origin` stands where the file name would. Only keys with `runtime` when `runtime_only`.
    void merge_yaml(const std::string& document, const std::string& origin,
                    bool runtime_only = false);
    void merge_assignment(const std::string& assignment);  // "link.bins=25"
    // Another default, for keys whose default depends on other keys. No effect on a set key.
    void set_default(const std::string& path, const std::string& value);
    // Another text for the same value (a placeholder filled in); the origin stays.
    void replace(const std::string& path, const std::string& value);
    void finish() const;  // throws when a required key is missing

    const std::string& text(const std::string& path) const;
    std::int64_t integer(const std::string& path) const;
    double real(const std::string& path) const;
    bool flag(const std::string& path) const;
    // An error about a valid value that does not fit others: place, key, value, then `why`.
    error refuse(const std::string& path, const std::string& why) const;

    std::string to_yaml() const;
    // Paths whose value differs from `other`, in table order.
    std::vector<std::string> changed_from(const settings& other) const;

private:
    const key& declared(const std::string& path, const std::string& origin) const;
    void put(const key& k, const std::string& value, const std::string& origin);

    const std::vector<key>* table_;
    std::map<std::string, setting> values_;
};

// The table as GitHub Markdown, one row per key.
std::string to_markdown(const std::vector<key>& table);

}  // namespace wip::config
