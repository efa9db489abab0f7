// SPDX-License-Identifier: GPL-3.0-or-later
// Writes a tree as a YAML document that every reader understands in the same way. yaml-cpp alone
// writes the text 010 without quotes, which some readers take for a number (yaml/core_schema.h).
#pragma once

#include <yaml-cpp/yaml.h>

#include <string>

#include "yaml/core_schema.h"

namespace wip::yaml {

// The tag that yaml-cpp gives to a scalar in quotes; a node with it is a text.
inline constexpr const char* quoted = "!";

inline void write(YAML::Emitter& out, const YAML::Node& node) {
    if (node.Style() == YAML::EmitterStyle::Flow) out << YAML::Flow;
    if (node.IsMap()) {
        out << YAML::BeginMap;
        for (const auto& pair : node) {
            out << YAML::Key;
            write(out, pair.first);
            out << YAML::Value;
            write(out, pair.second);
        }
        out << YAML::EndMap;
    } else if (node.IsSequence()) {
        out << YAML::BeginSeq;
        for (const auto& item : node) write(out, item);
        out << YAML::EndSeq;
    } else if (node.IsScalar()) {
        const auto means = meaning(node.Scalar());
        if (means == scalar::refused || (node.Tag() == quoted && means != scalar::text))
            out << YAML::DoubleQuoted;
        out << node.Scalar();
    } else {
        out << YAML::Null;
    }
}

inline std::string written(const YAML::Node& node) {
    YAML::Emitter out;
    write(out, node);
    return out.c_str();
}

}  // namespace wip::yaml
