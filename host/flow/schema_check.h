// SPDX-License-Identifier: GPL-3.0-or-later
// A check of JSON against a JSON Schema, as far as flows.schema.json needs one.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace wip::flow {

// A plan keeps the order in which its settings and programs are written.
using json = nlohmann::ordered_json;

extern const char* const schema_text;  // flows.schema.json

class schema_check {
public:
    explicit schema_check(const json& schema) : schema_(schema) {}

    // Checks `value` against #/$defs/NAME and writes the defaults into it. Throws
    // std::invalid_argument, which names the place, the value and what is valid.
    void check(json& value, const std::string& definition) const;

private:
    const json& schema_;

    json resolved(const json& rule) const;
    void check_value(json& value, const json& rule, const std::string& place) const;
    void object(json& value, const json& rule, const std::string& place) const;
    void list(json& value, const json& rule, const std::string& place) const;
    void text(const json& value, const json& rule, const std::string& place) const;
    void number(const json& value, const json& rule, const std::string& place) const;
    void one_of(json& value, const json& rules, const std::string& place) const;
};

}  // namespace wip::flow
