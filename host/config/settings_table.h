// SPDX-License-Identifier: GPL-3.0-or-later
// The one table of settings (mac/schema/settings.yaml, which says what its columns mean), as the
// programs see it: a process its keys, the monitor its controls. The build makes the rows
// (openwip_cli/settings/code.py), so that what a column means is decided in one place.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/schema.h"

namespace wip::config {

// Functions of a program that the table names as `check`. Those of endpoints, words and network
// namespaces are known to every program.
using text_checks = std::map<std::string, std::string (*)(std::string_view)>;

enum class process : std::uint8_t { macd, emulator, medium, fader, tcpl, observer, split };

// A setting of a process, as it is compiled in. Empty: the column is not given.
struct setting_row {
    const char* path = "";
    kind type = kind::text;
    const char* fallback = "";
    const char* doc = "";
    const char* unit = "";
    const char* zero = "";
    const char* check = "";
    const char* shown = "";
    const char* live = "";
    double lowest = -std::numeric_limits<double>::infinity();
    double highest = std::numeric_limits<double>::infinity();
    double least = 0;
    const char* choices = "";  // choices separated by |, as are the words
    const char* words = "";
    std::size_t most = 0;
    bool whole = false;
    bool required = false;
    bool format = false;
};
std::span<const setting_row> rows_of(process of);

// Throws `error` when a check has no function.
key make_key(const setting_row& row, const text_checks& checks = {});
// The keys of a process, in the order of the table.
std::vector<key> keys_of(process of, const text_checks& checks = {});

// A setting of a running cell that the monitor offers.
struct control_row {
    enum class kind : std::uint8_t { choice, whole, real };
    std::string group, label;  // heading, and name below it
    std::string station;       // station whose control socket takes it
    std::string key;           // key in that station's configuration
    kind type = kind::choice;
    std::vector<std::string> choices{};
    double low = 0, high = 0;
    std::string unit{}, help{};
};
const std::vector<control_row>& controls();

const std::vector<impairment_kind>& impairments();

}  // namespace wip::config
