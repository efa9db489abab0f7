// SPDX-License-Identifier: GPL-3.0-or-later
// A YAML document, read and walked in one way. What is refused is said by whoever reads it.
#pragma once

#include <yaml-cpp/yaml.h>

#include <set>
#include <string>

namespace wip::yaml {

inline std::string show(const YAML::Node& n) {
    if (!n.IsDefined()) return "missing";
    if (n.IsNull()) return "empty";
    if (n.IsScalar()) return "'" + n.Scalar() + "'";
    return n.IsMap() ? "a mapping" : "a list";
}

// FILE:LINE, or the file where no line is known.
inline std::string where(const std::string& file, const YAML::Mark& mark) {
    if (mark.is_null() || mark.line < 0) return file;
    return file + ":" + std::to_string(mark.line + 1);
}

// visit(root); what is no YAML goes to refuse(mark, why), which throws.
template <class Refuse, class Visit>
void read(const std::string& text, const Refuse& refuse, const Visit& visit) {
    try {
        visit(YAML::Load(text));
    } catch (const YAML::Exception& e) {
        refuse(e.mark, "not YAML: " + e.msg);
    }
}

// visit(name, value, mark of the name) for each entry of a mapping, in the order of the file. A key
// that is no word, or is there for the second time (yaml-cpp keeps both), goes to refuse(key, why),
// which throws.
template <class Refuse, class Visit>
void each_entry(const YAML::Node& map, const Refuse& refuse, const Visit& visit) {
    std::set<std::string> seen;
    for (const auto& pair : map) {
        if (!pair.first.IsScalar())
            refuse(pair.first, "a key must be a word, not " + show(pair.first));
        if (!seen.insert(pair.first.Scalar()).second) refuse(pair.first, "given twice");
        visit(pair.first.Scalar(), pair.second, pair.first.Mark());
    }
}

}  // namespace wip::yaml
