// SPDX-License-Identifier: GPL-3.0-or-later
#include "config/key_figures.h"

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <array>
#include <cstdio>

#include "config/schema.h"
#include "yaml/walk.h"

namespace wip::config {
namespace {

std::string word_of(const YAML::Node& columns, const char* name) {
    return columns[name] ? columns[name].Scalar() : "";
}

key_figure figure_of(const std::string& name, const YAML::Node& columns) {
    key_figure f;
    f.name = name;
    f.help = columns["help"].as<std::string>();
    const std::string topic_and_field = word_of(columns, "of");
    const auto space = topic_and_field.find(' ');
    f.topic = topic_and_field.substr(0, space);
    if (space != std::string::npos) f.fields = {topic_and_field.substr(space + 1)};
    for (const auto& part : columns["parts"]) f.fields.push_back(part["of"].as<std::string>());
    f.needs = yaml::words_of(columns["needs"]);
    f.title = word_of(columns, "title");
    f.unit = word_of(columns, "unit");
    if (columns["factor"]) f.factor = columns["factor"].as<double>();
    if (columns["digits"]) f.digits = columns["digits"].as<int>();
    f.row = word_of(columns, "row");
    f.views = yaml::words_of(columns["views"]);
    return f;
}

}  // namespace

std::string key_figure::words(std::optional<double> value) const {
    if (!value) return title + " unknown";
    std::array<char, 400> text{};
    std::snprintf(text.data(), text.size(), "%.*f", digits, *value * factor);
    std::string number = text.data();
    // A value that is rounded to zero gets no sign.
    if (number.find_first_not_of("-0.") == std::string::npos && number[0] == '-')
        number.erase(0, 1);
    return title + " " + number + (unit.empty() ? "" : " " + unit);
}

std::vector<key_figure> read_key_figures(const std::string& yaml, const std::string& origin) {
    try {
        std::vector<key_figure> list;
        for (const auto& entry : YAML::Load(yaml)["figures"])
            list.push_back(figure_of(entry.first.Scalar(), entry.second));
        return list;
    } catch (const YAML::Exception& e) {
        throw error(origin + ": " + e.what());
    }
}

std::vector<key_figure> key_figures_of(const std::string& row, const std::string& view) {
    std::vector<key_figure> found;
    for (const auto& f : built_in_key_figures())
        if (f.row == row && std::find(f.views.begin(), f.views.end(), view) != f.views.end())
            found.push_back(f);
    return found;
}

}  // namespace wip::config
