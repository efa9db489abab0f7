// SPDX-License-Identifier: GPL-3.0-or-later
// YAML documents into checked settings, and back. A document is a mapping of scalars and of
// mappings of such, as deep as the keys go; a list is one of entries (NAME[].KEY) or the value of a
// tree. Anchors to mappings and custom tags have no meaning here and are refused.
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <set>

#include "config/schema.h"
#include "types/file_text.h"
#include "types/not_valid.h"
#include "yaml/walk.h"
#include "yaml/written.h"

namespace wip::config {
namespace {

struct found_value {
    std::string path;
    YAML::Node node;
    std::string origin;
};

struct found_entry {
    std::string name, path, origin;
};

struct walker {
    std::string origin;
    std::set<std::string> sections{}, keys{};  // a section is what is before a dot of a key
    std::vector<found_value> values{};
    std::vector<found_entry> entries{};

    // visit(name, value, FILE:LINE)
    template <class Visit>
    void each(const YAML::Node& map, const std::string& prefix, const Visit& visit) const {
        yaml::each_entry(
            map,
            [&](const YAML::Node& key, const std::string& why) {
                throw error(yaml::where(origin, key.Mark()) + ": " +
                            (key.IsScalar() ? shown(prefix + key.Scalar()) + ": " : "") + why);
            },
            [&](const std::string& name, const YAML::Node& value, const YAML::Mark& mark) {
                visit(name, value, yaml::where(origin, mark));
            });
    }
    void walk(const YAML::Node& map, const std::string& prefix, const std::string& pattern) {
        each(map, prefix, [&](const auto& name, const auto& value, const auto& where) {
            const std::string path = prefix + name, section = pattern + name;
            if (sections.contains(section + ".*"))
                walk_names(value, path, where);
            else if (sections.contains(section + "[]"))
                walk_list(value, path, where);
            else if (value.IsMap() &&
                     (sections.contains(section) || (prefix.empty() && !keys.contains(section))))
                walk(value, path + ".", section + ".");
            else if (!value.IsNull() || !sections.contains(section))
                values.push_back({path, value, where});
        });
    }
    void walk_names(const YAML::Node& map, const std::string& name, const std::string& where) {
        if (map.IsNull()) return;
        if (!map.IsMap()) refuse(where, name, map, "a mapping of names, for example base: {}");
        each(map, name + ".", [&](const auto& entry, const auto& value, const auto& at) {
            walk_entry(value, name, name + "." + entry, name + ".*.", at);
        });
    }
    void walk_list(const YAML::Node& list, const std::string& name, const std::string& where) {
        if (list.IsNull()) return;
        if (!list.IsSequence()) refuse(where, name, list, "a list of mappings");
        for (std::size_t i = 0; i < list.size(); ++i)
            walk_entry(list[i], name, name + "[" + std::to_string(i) + "]", name + "[].",
                       yaml::where(origin, list[i].Mark()));
    }
    void walk_entry(const YAML::Node& entry, const std::string& name, const std::string& path,
                    const std::string& pattern, const std::string& where) {
        if (!entry.IsMap() && !entry.IsNull()) refuse(where, path, entry, "a mapping");
        entries.push_back({name, path, where});
        if (entry.IsMap()) walk(entry, path + ".", pattern);
    }
    [[noreturn]] static void refuse(const std::string& where, const std::string& path,
                                    const YAML::Node& found, const std::string& valid) {
        throw error(where + ": " +
                    wip::not_valid(shown(path),
                                   found.IsScalar() ? shown(found.Scalar()) : yaml::show(found),
                                   valid));
    }
};

}  // namespace

void settings::merge_yaml(const std::string& document, const std::string& origin,
                          bool runtime_only) {
    if (document.size() > largest_file_text)
        throw error(origin + ": the file is too large for a configuration; valid: up to 1 MiB");
    if (!runtime_only) file_ = origin;
    walker found{origin};
    for (const auto& k : *table_) {
        found.keys.insert(k.path);
        for (auto dot = k.path.find('.'); dot != std::string::npos; dot = k.path.find('.', dot + 1))
            found.sections.insert(k.path.substr(0, dot));
    }
    yaml::read(
        document,
        [&](const YAML::Mark& mark, const std::string& why) {
            throw error(yaml::where(origin, mark) + ": " + why);
        },
        [&](const YAML::Node& root) {
            if (!root.IsMap() && !root.IsNull())
                throw error(origin + ": the file is " +
                            (root.IsScalar() ? "a single value" : yaml::show(root)) +
                            "; valid: a mapping of keys to values");
            found.walk(root, "", "");
        });
    settings merged = *this;
    for (const auto& e : found.entries)
        if (runtime_only && std::ranges::none_of(*table_, [&](const key& k) {
                return k.runtime && k.path.starts_with(e.name + ".*.");
            }))
            throw error(e.origin + ": " + shown(e.path) +
                        " cannot change in a running process; valid: set it before the start");
    for (const auto& e : found.entries) merged.add_entry(e.name, e.path, e.origin);
    for (const auto& f : found.values) {
        const key& k = declared(f.path, f.origin);
        if (runtime_only && !k.runtime)
            throw error(f.origin + ": " + shown(f.path) +
                        " cannot change in a running process; valid: set it before the start");
        const bool tree = k.type == kind::tree && f.node.IsDefined() && !f.node.IsScalar();
        if (!f.node.IsScalar() && !tree)
            throw error(f.origin + ": " +
                        wip::not_valid(shown(f.path), yaml::show(f.node), valid_values(k)));
        merged.put(f.path, tree ? YAML::Dump(f.node) : f.node.Scalar(), f.origin);
    }
    *this = std::move(merged);
}

void settings::merge_file(const std::string& path) { merge_yaml(file_text(path), path); }

void settings::merge_assignment(const std::string& assignment) {
    const auto equals = assignment.find('=');
    if (equals == std::string::npos || equals == 0)
        throw error(wip::not_valid("--set", shown(assignment), "KEY=VALUE, such as link.bins=10"));
    const std::string path = assignment.substr(0, equals);
    put(path, assignment.substr(equals + 1), "--set");
}

// Writes the keys of the table; entries of a map have theirs in their place.
std::string settings::to_yaml() const {
    YAML::Node root(YAML::NodeType::Map);
    // `words`: what is left of the way from `section` to the value of `path`.
    const auto put = [this](YAML::Node section, std::string words, const std::string& path,
                            kind type) {
        const auto found = values_.find(path);
        if (found == values_.end()) return;
        for (auto dot = words.find('.'); dot != std::string::npos; dot = words.find('.')) {
            section.reset(section[words.substr(0, dot)]);
            words.erase(0, dot + 1);
        }
        const std::string& text = found->second.text;
        section[words] = type == kind::tree ? YAML::Load(text) : YAML::Node(text);
        if (type == kind::tree) section[words].SetStyle(YAML::EmitterStyle::Flow);
        if (type == kind::text) section[words].SetTag(yaml::quoted);
    };
    for (const auto& k : *table_) put(root, k.path, k.path, k.type);
    for (const auto& [name, all] : entries_)
        for (std::size_t i = 0; i < all.size(); ++i) {
            const std::size_t key_start = name.size() + 1;
            const YAML::Node entry =
                all[i][name.size()] == '[' ? root[name][i] : root[name][all[i].substr(key_start)];
            for (const auto& [k, path] : keys_of(name, all[i]))
                put(entry, path.substr(all[i].size() + 1), path, k->type);
        }
    return yaml::written(root) + "\n";
}

}  // namespace wip::config
