// SPDX-License-Identifier: GPL-3.0-or-later
// Functions that read a YAML document and visit its entries, with the same rules everywhere. The
// caller reports errors.
#pragma once

#include <yaml-cpp/yaml.h>

#include <set>
#include <string>
#include <vector>

#include "types/one_line.h"
#include "yaml/document_check.h"

namespace wip::yaml {

inline std::string show(const YAML::Node& n) {
    if (!n.IsDefined()) return "missing";
    if (n.IsNull()) return "empty";
    if (n.IsScalar()) return "'" + shown(n.Scalar()) + "'";
    return n.IsMap() ? "a mapping" : "a list";
}

// The words of a node: one word, a list, or the keys and values of a mapping in turn; none if the
// node is missing.
inline std::vector<std::string> words_of(const YAML::Node& n) {
    std::vector<std::string> words;
    if (!n.IsDefined()) return words;
    if (n.IsScalar()) words.push_back(n.Scalar());
    if (n.IsSequence())
        for (const auto& item : n) words.push_back(item.Scalar());
    if (n.IsMap())
        for (const auto& pair : n) {
            words.push_back(pair.first.Scalar());
            words.push_back(pair.second.Scalar());
        }
    return words;
}

// FILE:LINE, or the file where no line is known.
inline std::string where(const std::string& file, const YAML::Mark& mark) {
    if (mark.is_null() || mark.line < 0) return file;
    return file + ":" + std::to_string(mark.line + 1);
}

// Calls visit(root). For a text that is not YAML, or whose scalars do not have one meaning, it
// calls refuse(mark, why), which throws.
template <class Refuse, class Visit>
void read(const std::string& text, const Refuse& refuse, const Visit& visit) {
    try {
        check_document(text);
        visit(YAML::Load(text));
    } catch (const refused& e) {
        refuse(e.mark, e.why);
    } catch (const YAML::Exception& e) {
        refuse(e.mark, "not YAML: " + e.msg);
    }
}

// Returns the mappings that a merge key (<<) names, one or a list of them; for anything else it
// calls refuse(key, why).
template <class Refuse>
std::vector<YAML::Node> merged_into(const YAML::Node& key, const YAML::Node& value,
                                    const Refuse& refuse) {
    std::vector<YAML::Node> all;
    if (value.IsSequence())
        for (const auto& one : value) all.push_back(one);
    else
        all.push_back(value);
    for (const auto& one : all)
        if (!one.IsMap())
            refuse(key,
                   "a merge key names " + show(one) + "; valid: a mapping or a list of mappings");
    return all;
}

// Calls visit(name, value, mark of the name) for each entry of a mapping, in the order of the file,
// then for those of the mappings that it merges (<<), unless it has the same key itself. For a key
// that is not a scalar, or occurs twice (yaml-cpp keeps both), it calls refuse(key, why), which
// throws.
template <class Refuse, class Visit>
void each_entry(const YAML::Node& map, const Refuse& refuse, const Visit& visit) {
    constexpr std::size_t deepest = 100;  // the limit ends an anchor that merges itself
    struct from {
        YAML::Node map;
        std::size_t depth;
    };
    std::set<std::string> seen;
    std::vector<from> left{{map, 0}};
    for (std::size_t i = 0; i < left.size(); ++i) {
        const from now = left[i];
        std::set<std::string> here;
        for (const auto& pair : now.map) {
            if (!pair.first.IsScalar())
                refuse(pair.first, "a key must be a word, not " + show(pair.first));
            const std::string name = pair.first.Scalar();
            if (!here.insert(name).second) refuse(pair.first, "given twice");
            if (name == "<<") {
                for (const auto& one : merged_into(pair.first, pair.second, refuse)) {
                    if (now.depth == deepest || left.size() > 1000)
                        refuse(pair.first,
                               "merge keys are nested more than 100 deep; valid: up to 100");
                    left.push_back({one, now.depth + 1});
                }
            } else if (seen.insert(name).second) {
                visit(name, pair.second, pair.first.Mark());
            }
        }
    }
}

}  // namespace wip::yaml
