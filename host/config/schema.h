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
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "types/failure.h"
#include "types/one_line.h"

namespace wip::config {

// One line: place, key, value, and what would be valid.
using error = bad_input;

enum class kind : std::uint8_t {
    boolean,
    integer,
    real,
    text,
    choice,
    number_or_word,  // `words` are valid beside the range
    numbers,         // `most` of them, separated by commas
    tree             // a list of `items`
};

// {name: {field: number}} or {short_name: number}, which is that of the first field.
struct impairment_kind {
    std::string name, short_name;
    std::vector<std::string> fields;
};

// One declared key, made from the table of settings (settings_table.h). Range limits are inclusive.
// NAME.*.KEY and NAME[].KEY stand for the KEY of each entry of a mapping or list NAME.
struct key {
    std::string path;  // "link.bins"
    kind type = kind::text;
    std::string fallback = {};  // default, as in YAML; ignored when required
    std::string doc;
    std::string unit = {};
    std::string zero = {};  // meaning of 0, if 0 is not a value like others
    double lowest = -std::numeric_limits<double>::infinity();
    double highest = std::numeric_limits<double>::infinity();
    double least = 0;  // least value other than 0, for a range that begins with 0
    std::vector<std::string> choices = {};
    std::vector<std::string> words = {};
    bool whole = false;  // a number_or_word or numbers: integers only
    std::size_t most = 0;
    const std::vector<impairment_kind>* items = nullptr;
    // A check of a text. It returns an empty string for a valid one, else what would be valid.
    std::function<std::string(std::string_view)> check = {};
    std::string fallback_doc = {};  // shown in the documentation instead of `fallback`
    bool required = false;
    bool runtime = false;   // it may be changed while the process runs
    std::string live = {};  // stations of the cell that take such a change: "base, terminal"
    bool endpoint = false;  // it is the endpoint of a socket
    bool format = false;    // both ends of the link need the same
};

// Human-readable rule of a key: "integer 1..25", "one of: static, best", ...
std::string valid_values(const key& k);

// Nearest of `candidates` by edit distance, or empty when none is near.
std::string did_you_mean(std::string_view word, const std::vector<std::string>& candidates);

// One of a tree, by the name that was written and that of its kind.
struct impairment {
    std::string written, kind;
    std::map<std::string, double> fields;
};

struct setting {
    std::string text;    // canonical text
    std::string origin;  // "default", "demo.yaml:12", "--set"
};

class settings {
public:
    explicit settings(const std::vector<key>& table);
    const std::vector<key>& keys() const { return *table_; }

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
    // The number; nothing if the value is a word.
    std::optional<double> number(const std::string& path) const;
    std::vector<double> numbers(const std::string& path) const;
    std::vector<impairment> items(const std::string& path) const;
    bool given(const std::string& path) const;  // false: it has its default
    // NAME.base, NAME.terminal, or NAME[0], NAME[1], ...: what stands in the place of NAME.* or
    // NAME[], in the order of the file.
    const std::vector<std::string>& entries(const std::string& name) const;
    // The error of a value: its place, then types/not_valid.h.
    error not_valid(const std::string& path, const std::string& valid) const;
    // The error of a value that does not fit other values: place, key, value, then `why`, which
    // ends with the valid values.
    error refuse(const std::string& path, const std::string& why) const;
    error refuse(const std::string& why) const;  // an error about the whole file

    // All settings, with their entries; reading the text gives the same settings.
    std::string to_yaml() const;
    // The lines "key = value" of all settings that both ends of the link need to have equal.
    std::vector<std::string> format() const;
    // Compares with the lines of the other end: empty when they are equal, else the difference.
    std::string misfit(const std::vector<std::string>& theirs) const;
    // Refuses a change that is for another station of the cell: base, terminal or air.
    void check_station(const std::string& path, std::string_view station) const;
    // Paths whose value differs from `other`, in table order.
    std::vector<std::string> changed_from(const settings& other) const;

private:
    const key* find(const std::string& path) const;
    const key& declared(const std::string& path, const std::string& origin) const;
    void put(const std::string& path, const std::string& value, const std::string& origin);
    void add_entry(const std::string& name, const std::string& path, const std::string& origin);
    // The keys of entry `path` of NAME, each with its path.
    std::vector<std::pair<const key*, std::string>> keys_of(const std::string& name,
                                                            const std::string& path) const;

    const std::vector<key>* table_;
    std::string file_ = "configuration";
    std::map<std::string, setting> values_;
    std::map<std::string, std::vector<std::string>> entries_;
};

// The table as GitHub Markdown, one row per key.
std::string to_markdown(const std::vector<key>& table);

}  // namespace wip::config
