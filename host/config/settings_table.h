// SPDX-License-Identifier: GPL-3.0-or-later
// The one table of settings (mac/schema/settings.yaml, which says what its columns mean), as the
// programs see it: a process its keys, the monitor its controls.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "config/schema.h"

namespace wip::config {

// Functions of a program that the table names as `check`. Those of endpoints, words and network
// namespaces are known to every program.
using text_checks = std::map<std::string, std::string (*)(std::string_view)>;

// A setting of a running cell that the monitor offers.
struct control_row {
    enum class kind : std::uint8_t { choice, whole, real };
    std::string group, label;  // heading, and name below it
    std::string station;       // whose control socket
    std::string key;           // of its configuration
    kind type = kind::choice;
    std::vector<std::string> choices{};
    double low = 0, high = 0;
    std::string unit{}, help{};
};

class settings_table {
public:
    // Throws `error` for a table that is not one.
    settings_table(const std::string& yaml, const std::string& origin);
    static const settings_table& built_in();

    // In the order of the table. Throws `error` when a check has no function.
    std::vector<key> keys(const std::string& program, const text_checks& checks = {}) const;
    std::vector<control_row> controls() const;
    const std::vector<impairment_kind>& impairments() const { return impairments_; }

private:
    // A scalar is one word, a list several, {a: b} two; an empty list is a column that is not
    // given.
    using columns = std::map<std::string, std::vector<std::string>>;
    struct entry {
        std::string name;
        columns general{};
        std::map<std::string, columns> of_program{};
    };
    using views = std::vector<std::string>;  // whose column counts, the first one first

    std::vector<std::string> column(const entry& e, const views& of, const std::string& name) const;
    std::string word(const entry& e, const views& of, const std::string& name) const;
    key make_key(const entry& e, const views& of, const text_checks& checks) const;
    void add_control(const entry& e, const views& of, std::vector<control_row>& rows) const;

    std::string origin_;
    std::string format_;  // the reason by which a setting is fixed that both ends agree on
    std::vector<entry> entries_;
    std::map<std::string, std::size_t> by_name_;
    std::vector<impairment_kind> impairments_;
};

}  // namespace wip::config
