// SPDX-License-Identifier: GPL-3.0-or-later
// YAML documents into checked settings, and back. A document is a mapping of scalars and of
// mappings of such, as deep as the keys go; a list is one of entries (NAME[].KEY) or the value of a
// tree. Anchors to mappings and custom tags have no meaning here and are refused.
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <cstring>
#include <set>
#include <sstream>

#include "config/schema.h"
#include "types/file_text.h"

namespace wip::config {
namespace {

std::string place(const std::string& origin, const YAML::Mark& mark) {
    if (mark.is_null() || mark.line < 0) return origin;
    return origin + ":" + std::to_string(mark.line + 1);
}

const char* kind_of(const YAML::Node& n) {
    if (n.IsSequence()) return "a list";
    if (n.IsMap()) return "a mapping";
    return "nothing";
}

struct found_value {
    std::string path;
    YAML::Node node;
    std::string origin;
};

struct found_entry {
    std::string name, path, origin;
};

// Walks a mapping; yaml-cpp keeps duplicate keys as separate pairs, which is how they are seen.
struct walker {
    std::string origin;
    std::set<std::string> sections{}, keys{};  // a section is what is before a dot of a key
    std::vector<found_value> values{};
    std::vector<found_entry> entries{};

    void walk(const YAML::Node& map, const std::string& prefix, const std::string& pattern) {
        std::set<std::string> seen;
        for (const auto& pair : map) {
            const auto where = place(origin, pair.first.Mark());
            if (!pair.first.IsScalar())
                throw error(where + ": a key must be a word, not " + kind_of(pair.first));
            const std::string path = prefix + pair.first.Scalar();
            const std::string section = pattern + pair.first.Scalar();
            if (!seen.insert(path).second) throw error(where + ": " + path + ": given twice");
            if (sections.contains(section + ".*"))
                walk_names(pair.second, path, where);
            else if (sections.contains(section + "[]"))
                walk_list(pair.second, path, where);
            else if (pair.second.IsMap() &&
                     (sections.contains(section) || (prefix.empty() && !keys.contains(section))))
                walk(pair.second, path + ".", section + ".");
            else if (!pair.second.IsNull() || !sections.contains(section))
                values.push_back({path, pair.second, where});
        }
    }
    void walk_names(const YAML::Node& map, const std::string& name, const std::string& where) {
        if (map.IsNull()) return;
        if (!map.IsMap()) refuse(where, name, map, "a mapping of names, for example base: {}");
        std::set<std::string> seen;
        for (const auto& pair : map) {
            const auto at = place(origin, pair.first.Mark());
            if (!pair.first.IsScalar())
                throw error(at + ": a key must be a word, not " + kind_of(pair.first));
            if (!seen.insert(pair.first.Scalar()).second)
                throw error(at + ": " + name + "." + pair.first.Scalar() + ": given twice");
            walk_entry(pair.second, name, name + "." + pair.first.Scalar(), name + ".*.", at);
        }
    }
    void walk_list(const YAML::Node& list, const std::string& name, const std::string& where) {
        if (list.IsNull()) return;
        if (!list.IsSequence()) refuse(where, name, list, "a list of mappings");
        for (std::size_t i = 0; i < list.size(); ++i)
            walk_entry(list[i], name, name + "[" + std::to_string(i) + "]", name + "[].",
                       place(origin, list[i].Mark()));
    }
    void walk_entry(const YAML::Node& of, const std::string& name, const std::string& path,
                    const std::string& pattern, const std::string& where) {
        if (!of.IsMap() && !of.IsNull()) refuse(where, path, of, "a mapping");
        entries.push_back({name, path, where});
        if (of.IsMap()) walk(of, path + ".", pattern);
    }
    [[noreturn]] static void refuse(const std::string& where, const std::string& path,
                                    const YAML::Node& found, const std::string& valid) {
        throw error(where + ": " + path + " = " +
                    (found.IsScalar() ? found.Scalar() : kind_of(found)) +
                    ": not valid; expected " + valid);
    }
};

bool plain_word(const std::string& s) {
    // Quotes are needed for what YAML would read as something else than this text.
    if (s.empty() || s == "null" || s == "Null" || s == "NULL") return false;
    if (std::strchr("-?:,[]{}#&*!|>'\"%@`~ ", s.front()) != nullptr) return false;
    return s.find(": ") == std::string::npos && s.find(" #") == std::string::npos &&
           s.find('\n') == std::string::npos && s.back() != ':' && s.back() != ' ';
}

}  // namespace

void settings::merge_yaml(const std::string& document, const std::string& origin,
                          bool runtime_only) {
    if (document.size() > largest_file_text)
        throw error(origin + ": more than 1 MiB is not a configuration");
    if (!runtime_only) file_ = origin;
    walker found{origin};
    try {
        const YAML::Node root = YAML::Load(document);
        if (root.IsNull()) return;
        if (!root.IsMap())
            throw error(origin + ": not a YAML mapping of keys (found " +
                        (root.IsScalar() ? "a single value" : kind_of(root)) + ")");
        for (const auto& k : *table_) {
            found.keys.insert(k.path);
            for (auto dot = k.path.find('.'); dot != std::string::npos;
                 dot = k.path.find('.', dot + 1))
                found.sections.insert(k.path.substr(0, dot));
        }
        found.walk(root, "", "");
    } catch (const YAML::Exception& e) {
        throw error(place(origin, e.mark) + ": not YAML: " + e.msg);
    }
    settings merged = *this;
    for (const auto& e : found.entries)
        if (runtime_only && std::ranges::none_of(*table_, [&](const key& k) {
                return k.runtime && k.path.starts_with(e.name + ".*.");
            }))
            throw error(e.origin + ": " + e.path + ": cannot change in a running process");
    for (const auto& e : found.entries) merged.add_entry(e.name, e.path, e.origin);
    for (const auto& f : found.values) {
        const key& k = declared(f.path, f.origin);
        if (runtime_only && !k.runtime)
            throw error(f.origin + ": " + f.path + ": cannot change in a running process");
        const bool tree = k.type == kind::tree && f.node.IsDefined() && !f.node.IsScalar();
        if (!f.node.IsScalar() && !tree)
            throw error(f.origin + ": " + f.path + " = " + kind_of(f.node) +
                        ": not valid; expected " + valid_values(k));
        merged.put(f.path, tree ? YAML::Dump(f.node) : f.node.Scalar(), f.origin);
    }
    *this = std::move(merged);
}

void settings::merge_file(const std::string& path) { merge_yaml(file_text(path), path); }

void settings::merge_assignment(const std::string& assignment) {
    const auto equals = assignment.find('=');
    if (equals == std::string::npos || equals == 0)
        throw error("--set " + assignment + ": expected key.path=value");
    const std::string path = assignment.substr(0, equals);
    put(path, assignment.substr(equals + 1), "--set");
}

// The keys of a section stand together, wherever the table has them.
std::string settings::to_yaml() const {
    std::vector<std::string> order;
    std::map<std::string, std::string> lines;
    for (const auto& k : *table_) {
        const auto found = values_.find(k.path);
        if (found == values_.end()) continue;
        const auto dot = k.path.find('.');
        const std::string head = dot == std::string::npos ? k.path : k.path.substr(0, dot);
        const std::string name = dot == std::string::npos ? k.path : k.path.substr(dot + 1);
        std::string value = found->second.text;
        if ((k.type == kind::text || k.type == kind::numbers) && !plain_word(value)) {
            std::string quoted;
            for (const char c : value) quoted += c == '\'' ? std::string("''") : std::string(1, c);
            value = "'" + quoted + "'";
        }
        auto& section = lines[head];
        if (section.empty()) order.push_back(head);
        if (section.empty() && dot != std::string::npos) section = head + ":\n";
        section += (dot == std::string::npos ? "" : "  ") + name + ": " + value + "\n";
    }
    std::string out;
    for (const auto& head : order) out += lines[head];
    return out;
}

}  // namespace wip::config
