// SPDX-License-Identifier: GPL-3.0-or-later
#include "config/item_list.h"

#include <yaml-cpp/yaml.h>

#include <algorithm>

#include "types/number_text.h"

namespace wip::config {
namespace {

// Nothing for an item that is of none of the kinds, or has a key that its kind has not.
std::optional<impairment> read_item(const std::vector<impairment_kind>& kinds,
                                    const YAML::Node& item) {
    if (!item.IsMap() || item.size() != 1 || !item.begin()->first.IsScalar()) return std::nullopt;
    impairment found{item.begin()->first.Scalar(), {}, {}};
    const YAML::Node value = item.begin()->second;
    for (const auto& k : kinds) {
        if (found.written == k.short_name && value.IsScalar()) {
            const auto number = read_setting<double>(value.Scalar());
            if (!number) return std::nullopt;
            found.kind = k.name;
            found.fields[k.fields.front()] = *number;
            return found;
        }
        if (found.written != k.name || !value.IsMap()) continue;
        found.kind = k.name;
        for (const auto& field : value) {
            if (!field.first.IsScalar() || !field.second.IsScalar()) return std::nullopt;
            const auto number = read_setting<double>(field.second.Scalar());
            const auto known =
                std::find(k.fields.begin(), k.fields.end(), field.first.Scalar()) != k.fields.end();
            if (!known || !number) return std::nullopt;
            if (!found.fields.emplace(field.first.Scalar(), *number).second) return std::nullopt;
        }
        return found;
    }
    return std::nullopt;
}

}  // namespace

std::optional<std::string> canonical_items(const std::vector<impairment_kind>& kinds,
                                           const std::string& yaml) {
    try {
        const YAML::Node list = YAML::Load(yaml);
        if (list.IsNull()) return "[]";
        if (!list.IsSequence()) return std::nullopt;
        std::string line;
        for (const auto& item : list) {
            if (!read_item(kinds, item)) return std::nullopt;
            const YAML::Node value = item.begin()->second;
            line += (line.empty() ? "{" : ", {") + item.begin()->first.Scalar() + ": ";
            if (value.IsScalar()) line += value.Scalar();
            std::string fields;
            if (value.IsMap())
                for (const auto& field : value)
                    fields += (fields.empty() ? "" : ", ") + field.first.Scalar() + ": " +
                              field.second.Scalar();
            line += (value.IsMap() ? "{" + fields + "}" : "") + "}";
        }
        return "[" + line + "]";
    } catch (const YAML::Exception&) {
        return std::nullopt;
    }
}

std::vector<impairment> read_items(const std::vector<impairment_kind>& kinds,
                                   const std::string& text) {
    std::vector<impairment> all;
    for (const auto& item : YAML::Load(text)) all.push_back(read_item(kinds, item).value());
    return all;
}

std::string valid_items(const std::vector<impairment_kind>& kinds) {
    std::string valid = "a list such as [{cfo_hz: 3000}, {clock: {ppm: 5}}] of ";
    for (const auto& k : kinds) {
        if (&k != &kinds.front()) valid += ", ";
        if (!k.short_name.empty()) valid += k.short_name + ", ";
        valid += k.name + " (";
        for (const auto& field : k.fields)
            valid += (&field == &k.fields.front() ? "" : " ") + field;
        valid += ")";
    }
    return valid;
}

}  // namespace wip::config
