// SPDX-License-Identifier: GPL-3.0-or-later
#include "config/settings_table.h"

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <set>

#include "config/endpoint.h"
#include "types/extension_name.h"
#include "types/number_text.h"
#include "yaml/walk.h"

namespace wip::config {
namespace {

const std::set<std::string> column_names{
    "in",   "type",  "range",    "unit",       "words", "choices", "check",   "default",   "files",
    "help", "flag",  "live",     "fixed",      "like",  "own_key", "monitor", "offers",    "none",
    "most", "shown", "required", "experiment", "zero",  "role",    "part",    "attributes"};
const std::set<std::string> view_names{
    "macd",    "emulator", "medium",  "fader",     "tcpl",         "observer",   "split", "demo",
    "emulate", "tcp-l",    "running", "demo-live", "emulate-live", "experiment", "ns3"};
const std::set<std::string> inherited{"type",    "range", "unit",    "words",
                                      "choices", "check", "default", "most"};

bool contains(const std::vector<std::string>& words, const std::string& word) {
    return std::find(words.begin(), words.end(), word) != words.end();
}

std::string capitalised(std::string text) {
    if (!text.empty() && text[0] >= 'a' && text[0] <= 'z') text[0] += 'A' - 'a';
    return text;
}

std::string check_extension(std::string_view text) {
    if (text == no_extension || read_extension_name(text)) return {};
    return std::string(no_extension) + ", " + std::string(valid_extension);
}

const text_checks& common_checks() {
    static const text_checks checks{{"endpoint", check_endpoint},
                                    {"endpoint_or_none", check_endpoint_or_none},
                                    {"extension", check_extension},
                                    {"folder_or_none", check_folder_or_none},
                                    {"line_endpoint", check_line_endpoint},
                                    {"namespace", check_namespace},
                                    {"uplink_endpoint", check_uplink_endpoint},
                                    {"word", check_word}};
    return checks;
}

}  // namespace

settings_table::settings_table(const std::string& yaml, const std::string& origin)
    : origin_(origin) {
    const auto bad = [&](const YAML::Mark& mark, const std::string& why) {
        throw error(yaml::where(origin, mark) + ": " + why);
    };
    const auto each = [&](const YAML::Node& map, const auto& visit) {
        yaml::each_entry(
            map,
            [&](const YAML::Node& key, const std::string& why) {
                bad(key.Mark(), (key.IsScalar() ? key.Scalar() + ": " : "") + why);
            },
            visit);
    };
    const auto columns_into = [&](const std::string& of, const YAML::Node& map, columns& into,
                                  const auto& and_views) {
        each(map, [&](const auto& name, const YAML::Node& value, const YAML::Mark& at) {
            if (column_names.contains(name))
                into[name] = yaml::words_of(value);
            else if (!and_views(name, value))
                bad(at, of + ": unknown column " + name);
        });
    };
    yaml::read(yaml, bad, [&](const YAML::Node& root) {
        if (const YAML::Node reasons = root["reasons"]; reasons && reasons["format"])
            format_ = reasons["format"].Scalar();
        each(root["settings"], [&](const auto& of, const YAML::Node& value, const YAML::Mark& at) {
            entry e{of};
            columns_into(of, value, e.general, [&](const std::string& name, const auto& map) {
                if (!view_names.contains(name)) return false;
                columns_into(of, map, e.of_program[name],
                             [](const auto&, const auto&) { return false; });
                return true;
            });
            for (const auto& program : e.general["in"])
                if (!view_names.contains(program)) bad(at, of + ": unknown program " + program);
            by_name_.emplace(of, entries_.size());
            entries_.push_back(std::move(e));
        });
        each(root["impairments"], [&](const auto& name, const YAML::Node& value, const auto&) {
            const YAML::Node short_name = value["short"];
            impairments_.push_back(
                {name, short_name ? short_name.Scalar() : "", yaml::words_of(value["fields"])});
        });
    });
    for (const auto& e : entries_)
        if (const auto like = word(e, {}, "like"); !like.empty() && !by_name_.contains(like))
            throw error(origin + ": " + e.name + ": like " + like + ", which there is not");
}

std::vector<std::string> settings_table::column(const entry& e, const views& of,
                                                const std::string& name) const {
    for (const auto& view : of)
        if (const auto own = e.of_program.find(view); own != e.of_program.end())
            if (const auto found = own->second.find(name); found != own->second.end())
                return found->second;
    if (const auto found = e.general.find(name); found != e.general.end()) return found->second;
    if (!inherited.contains(name)) return {};
    const auto like = e.general.find("like");
    if (like == e.general.end()) return {};
    return column(entries_[by_name_.at(like->second.at(0))], of, name);
}

std::string settings_table::word(const entry& e, const views& of, const std::string& name) const {
    const auto words = column(e, of, name);
    return words.empty() ? std::string() : words.front();
}

key settings_table::make_key(const entry& e, const views& of, const text_checks& checks) const {
    static const std::map<std::string, kind> kinds{
        {"boolean", kind::boolean}, {"integer", kind::integer}, {"real", kind::real},
        {"text", kind::text},       {"choice", kind::choice},   {"integers", kind::numbers},
        {"reals", kind::numbers},   {"impairments", kind::tree}};
    const auto bad = [&](const std::string& why) {
        throw error(origin_ + ": " + e.name + ": " + why);
    };
    key k{.path = e.name, .fallback = word(e, of, "default"), .doc = word(e, of, "help")};
    const std::string type = word(e, of, "type");
    const auto known = kinds.find(type);
    if (known == kinds.end()) bad("type = " + type + ": there is none such");
    k.type = known->second;
    k.whole = type == "integer" || type == "integers";
    k.unit = word(e, of, "unit");
    k.zero = word(e, of, "zero");
    k.choices = column(e, of, "choices");
    k.words = column(e, of, "words");
    if (!k.words.empty()) k.type = kind::number_or_word;
    if (const auto range = word(e, of, "range"); !range.empty()) {
        const auto dots = range.find("..");
        const auto low = read_number<double>(range.substr(0, dots));
        const auto high = read_number<double>(
            dots == std::string::npos ? "" : std::string_view(range).substr(dots + 2));
        if (!low || !high || *low > *high) bad("range = " + range + ": expected LOW..HIGH");
        k.lowest = *low, k.highest = *high;
    }
    if (const auto most = word(e, of, "most"); !most.empty())
        k.most = read_number<std::size_t>(most).value_or(0);
    if (const auto name = word(e, of, "check"); !name.empty()) {
        const auto& common = common_checks();
        if (const auto own = checks.find(name); own != checks.end())
            k.check = own->second;
        else if (const auto c = common.find(name); c != common.end())
            k.check = c->second;
        else
            bad("check = " + name + ": the program has none");
    }
    // A choice, or code of the user's own.
    if (k.type == kind::choice && k.check) {
        k.type = kind::text;
        k.check = [choices = k.choices](std::string_view text) -> std::string {
            if (std::find(choices.begin(), choices.end(), text) != choices.end() ||
                read_extension_name(text))
                return {};
            std::string valid;
            for (const auto& choice : choices) valid += choice + ", ";
            return valid + std::string(valid_extension);
        };
    }
    k.fallback_doc = word(e, of, "shown");
    k.required = !word(e, of, "required").empty();
    k.runtime = !word(e, of, "live").empty();
    k.format = !format_.empty() && word(e, of, "fixed") == format_;
    if (k.type == kind::tree) k.items = &impairments_;
    return k;
}

std::vector<key> settings_table::keys(const std::string& program, const text_checks& checks) const {
    std::vector<key> all;
    for (const auto& e : entries_)
        if (contains(column(e, {}, "in"), program)) all.push_back(make_key(e, {program}, checks));
    return all;
}

void settings_table::add_control(const entry& e, const views& of,
                                 std::vector<control_row>& rows) const {
    const auto monitor = column(e, of, "monitor");
    control_row row;
    row.station = word(e, of, "live");
    if (monitor.size() < 2 || row.station.empty()) return;
    row.group = monitor[0], row.label = monitor[1];
    row.key = word(e, of, "like");
    if (row.key.empty()) row.key = e.name;
    const key k = make_key(e, of, {});
    row.choices = column(e, of, "offers");
    if (row.choices.empty()) row.choices = k.choices;
    if (k.type == kind::boolean) row.choices = {"on", "off"};
    if (row.choices.empty())
        row.type = k.whole ? control_row::kind::whole : control_row::kind::real;
    row.low = k.lowest, row.high = k.highest;
    row.help = capitalised(k.doc);
    if (capitalised(k.unit) != row.label) row.unit = k.unit;  // "Bins: 10 bins" says it twice
    const auto same = std::find_if(rows.begin(), rows.end(), [&](const control_row& r) {
        return r.station == row.station && r.key == row.key;
    });
    if (same == rows.end()) {
        const auto after = std::find_if(rows.rbegin(), rows.rend(), [&](const control_row& r) {
                               return r.group == row.group;
                           }).base();
        rows.insert(after == rows.begin() ? rows.end() : after, std::move(row));
        return;
    }
    // The window does not know which kind of cell it is; what a process does not take, it says.
    same->low = std::min(same->low, row.low), same->high = std::max(same->high, row.high);
    for (const auto& c : row.choices)
        if (!contains(same->choices, c)) same->choices.push_back(c);
}

std::vector<control_row> settings_table::controls() const {
    std::vector<control_row> rows;
    for (const auto& e : entries_)
        for (const auto& [command, process] :
             {std::pair<std::string, std::string>{"demo", "medium"}, {"emulate", "emulator"}})
            if (const auto in = column(e, {}, "in");
                contains(in, command) || contains(in, command + "-live"))
                add_control(e, {"running", command, process}, rows);
    return rows;
}

}  // namespace wip::config
