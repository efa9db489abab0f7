// SPDX-License-Identifier: GPL-3.0-or-later
#include "flow/schema_check.h"

#include <algorithm>
#include <stdexcept>

#include "types/not_valid.h"

namespace wip::flow {
namespace {

// Defaults of the limits that a rule does not name.
constexpr double no_limit = 1e300;

[[noreturn]] void refuse(const std::string& place, const json& value, const std::string& valid) {
    std::string text = value.dump();
    if (text.size() > 60) text = text.substr(0, 57) + "...";
    throw std::invalid_argument(not_valid(place, text, valid));
}

std::string names_of(const json& members) {
    std::string names;
    for (const auto& [name, rule] : members.items()) names += (names.empty() ? "" : ", ") + name;
    return names;
}

std::string inside(const std::string& place, const std::string& name) {
    return place.empty() ? name : place + "." + name;
}

}  // namespace

// Writes the defaults of missing members into `value`.
void schema_check::check(json& value, const std::string& definition) const {
    check_value(value, schema_.at("$defs").at(definition), "");
}

// A rule with `$ref` becomes the rule that it refers to, with the other keys of its own added.
json schema_check::resolved(const json& rule) const {
    const auto at = rule.find("$ref");
    if (at == rule.end()) return rule;
    json whole = schema_.at(json::json_pointer(at->get<std::string>().substr(1)));
    for (const auto& [key, more] : rule.items())
        if (key != "$ref") whole[key] = more;
    return whole;
}

void schema_check::check_value(json& value, const json& given, const std::string& place) const {
    const json rule = resolved(given);
    if (rule.contains("oneOf")) return one_of(value, rule.at("oneOf"), place);
    if (rule.contains("const")) {
        if (value != rule.at("const")) refuse(place, value, rule.at("const").dump());
        return;
    }
    const std::string type = rule.at("type");
    if (type == "object")
        object(value, rule, place);
    else if (type == "array")
        list(value, rule, place);
    else if (type == "integer" || type == "number")
        number(value, rule, place);
    else if (type == "boolean" && !value.is_boolean())
        refuse(place, value, "true, false");
    else if (type == "string")
        text(value, rule, place);
}

void schema_check::object(json& value, const json& rule, const std::string& place) const {
    if (!value.is_object()) refuse(place.empty() ? "the plan" : place, value, "an object");
    static const json none = json::object();
    const json& known = rule.contains("properties") ? rule.at("properties") : none;
    const json& other = rule.at("additionalProperties");
    for (auto& [name, member] : value.items()) {
        if (known.contains(name))
            check_value(member, known.at(name), inside(place, name));
        else if (other.is_object())
            check_value(member, other, inside(place, name));
        else
            refuse(inside(place, name), member, "one of " + names_of(known));
    }
    if (rule.contains("required"))
        for (const std::string name : rule.at("required"))
            if (!value.contains(name))
                throw std::invalid_argument(inside(place, name) + " is missing in the plan");
    for (const auto& [name, member] : known.items()) {
        const json whole = resolved(member);
        if (whole.contains("default") && !value.contains(name)) value[name] = whole.at("default");
    }
}

void schema_check::list(json& value, const json& rule, const std::string& place) const {
    if (!value.is_array()) refuse(place, value, "a list");
    if (value.size() < rule.value("minItems", std::size_t{0}) ||
        value.size() > rule.value("maxItems", value.size()))
        refuse(place, value,
               "a list of " + std::to_string(rule.value("minItems", 0)) +
                   (rule.contains("maxItems") ? ".." + rule.at("maxItems").dump() + " entries"
                                              : " or more entries"));
    for (std::size_t i = 0; i < value.size(); ++i)
        check_value(value[i], rule.at("items"), place + "[" + std::to_string(i) + "]");
}

void schema_check::number(const json& value, const json& rule, const std::string& place) const {
    const bool whole = rule.at("type") == "integer";
    const std::string least = rule.contains("minimum") ? rule.at("minimum").dump() : "",
                      most = rule.contains("maximum") ? rule.at("maximum").dump() : "";
    const std::string valid = (whole ? "a whole number " : "a number ") + least + ".." + most;
    if (whole ? !value.is_number_integer() : !value.is_number()) refuse(place, value, valid);
    const auto x = value.get<double>();
    if (x < rule.value("minimum", -no_limit) || x > rule.value("maximum", no_limit))
        refuse(place, value, valid);
}

void schema_check::text(const json& value, const json& rule, const std::string& place) const {
    if (rule.contains("enum")) {
        std::string valid;
        for (const std::string word : rule.at("enum")) valid += (valid.empty() ? "" : ", ") + word;
        if (std::ranges::find(rule.at("enum"), value) == rule.at("enum").end())
            refuse(place, value, valid);
    }
    if (!value.is_string()) refuse(place, value, "a text");
}

// Checks an object against that one of the rules whose `kind` is the object's.
void schema_check::one_of(json& value, const json& rules, const std::string& place) const {
    std::string kinds;
    for (const json& given : rules) {
        const json rule = resolved(given);
        const json& kind = rule.at("properties").at("kind").at("const");
        if (value.is_object() && value.contains("kind") && value.at("kind") == kind)
            return check_value(value, rule, place);
        kinds += (kinds.empty() ? "" : ", ") + kind.get<std::string>();
    }
    if (!value.is_object() || !value.contains("kind"))
        refuse(place, value, "an object with kind, one of " + kinds);
    refuse(place + ".kind", value.at("kind"), kinds);
}

}  // namespace wip::flow
