// SPDX-License-Identifier: GPL-3.0-or-later
// YAML documents into checked settings, and back. A document is a mapping of scalars, or of
// mappings of scalars; lists, anchors to mappings and custom tags have no meaning here and are
// refused.
#include <yaml-cpp/yaml.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <set>
#include <sstream>

#include "config/schema.h"

namespace wip::config {
namespace {

constexpr std::size_t largest_document = 1 << 20;

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

// Walks a mapping; yaml-cpp keeps duplicate keys as separate pairs, which is how they are seen.
void walk(const YAML::Node& map, const std::string& prefix, const std::string& origin,
          const std::set<std::string>& sections, std::vector<found_value>& out) {
    std::set<std::string> seen;
    for (const auto& pair : map) {
        const auto where = place(origin, pair.first.Mark());
        if (!pair.first.IsScalar())
            throw error(where + ": a key must be a word, not " + kind_of(pair.first));
        const std::string path = prefix + pair.first.Scalar();
        if (!seen.insert(path).second) throw error(where + ": " + path + ": given twice");
        if (pair.second.IsMap() && prefix.empty()) {
            walk(pair.second, path + ".", origin, sections, out);
        } else if (pair.second.IsNull() && sections.contains(path)) {
            continue;  // an empty section
        } else {
            out.push_back({path, pair.second, where});
        }
    }
}

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
    if (document.size() > largest_document)
        throw error(origin + ": more than 1 MiB is not a configuration");
    std::vector<found_value> found;
    try {
        const YAML::Node root = YAML::Load(document);
        if (root.IsNull()) return;
        if (!root.IsMap())
            throw error(origin + ": not a YAML mapping of keys (found " +
                        (root.IsScalar() ? "a single value" : kind_of(root)) + ")");
        std::set<std::string> sections;
        for (const auto& k : *table_)
            if (const auto dot = k.path.find('.'); dot != std::string::npos)
                sections.insert(k.path.substr(0, dot));
        walk(root, "", origin, sections, found);
    } catch (const YAML::Exception& e) {
        throw error(place(origin, e.mark) + ": not YAML: " + e.msg);
    }
    settings merged = *this;
    for (const auto& f : found) {
        const key& k = declared(f.path, f.origin);
        if (runtime_only && !k.runtime)
            throw error(f.origin + ": " + f.path + ": cannot change in a running process");
        if (!f.node.IsScalar())
            throw error(f.origin + ": " + f.path + " = " + kind_of(f.node) +
                        ": not valid; expected " + valid_values(k));
        merged.put(k, f.node.Scalar(), f.origin);
    }
    values_ = std::move(merged.values_);
}

void settings::merge_file(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    if (!in) throw error(path + ": " + std::strerror(errno));
    std::ostringstream text;
    if (in.peek() != std::ifstream::traits_type::eof()) text << in.rdbuf();
    if (in.bad() || (in.fail() && !in.eof())) throw error(path + ": cannot be read");
    merge_yaml(text.str(), path);
}

void settings::merge_assignment(const std::string& assignment) {
    const auto equals = assignment.find('=');
    if (equals == std::string::npos || equals == 0)
        throw error("--set " + assignment + ": expected key.path=value");
    const std::string path = assignment.substr(0, equals);
    put(declared(path, "--set"), assignment.substr(equals + 1), "--set");
}

std::string settings::to_yaml() const {
    std::string out;
    std::string section;
    for (const auto& k : *table_) {
        const auto found = values_.find(k.path);
        if (found == values_.end()) continue;
        const auto dot = k.path.find('.');
        const std::string head = dot == std::string::npos ? "" : k.path.substr(0, dot);
        if (head != section && !head.empty()) out += head + ":\n";
        section = head;
        const std::string name = dot == std::string::npos ? k.path : k.path.substr(dot + 1);
        std::string value = found->second.text;
        if (k.type == kind::text && !plain_word(value)) {
            std::string quoted;
            for (const char c : value) quoted += c == '\'' ? std::string("''") : std::string(1, c);
            value = "'" + quoted + "'";
        }
        out += (head.empty() ? "" : "  ") + name + ": " + value + "\n";
    }
    return out;
}

}  // namespace wip::config
