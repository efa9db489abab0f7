// SPDX-License-Identifier: GPL-3.0-or-later
// A place in a YAML file, node and full key, that refuses what is wrong with one line: file, key,
// value and what would be valid.
#pragma once

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "types/number_text.h"
#include "types/one_line.h"

namespace wip::profiles {

// A refusal is one line, whatever was written.
[[noreturn]] inline void refuse(const std::string& why) {
    throw std::invalid_argument(one_line(why));
}

inline std::string show(const YAML::Node& n) {
    if (!n.IsDefined()) return "missing";
    if (n.IsNull()) return "empty";
    if (n.IsScalar()) return "'" + n.Scalar() + "'";
    return n.IsMap() ? "a mapping" : "a list";
}

inline std::string list(const std::vector<std::string>& names) {
    std::string s;
    for (const std::string& n : names) s += (s.empty() ? "" : ", ") + n;
    return s;
}

// A place in the file: node and its full key.
class place {
public:
    place(const YAML::Node& node, std::string file, std::string key)
        : node_(node.IsDefined() ? node : YAML::Node(YAML::NodeType::Undefined)),
          file_(std::move(file)),
          key_(std::move(key)) {}

    [[noreturn]] void refuse(const std::string& valid) const {
        profiles::refuse(file_ + ": " + (key_.empty() ? "file" : key_) + ": " + show(node_) +
                         "; valid: " + valid);
    }
    bool given() const { return node_.IsDefined() && !node_.IsNull(); }

    void expect_keys(const std::vector<std::string>& known) const {
        if (!node_.IsMap()) refuse("a mapping with the keys " + list(known));
        for (const auto& entry : node_) {
            const std::string name = entry.first.IsScalar() ? entry.first.Scalar() : "?";
            if (std::find(known.begin(), known.end(), name) == known.end())
                profiles::refuse(file_ + ": " + join(name) +
                                 ": unknown key; valid: " + list(known));
        }
    }
    place at(const std::string& name) const {
        return {node_.IsMap() ? node_[name] : YAML::Node(YAML::NodeType::Undefined), file_,
                join(name)};
    }
    template <class Visit>
    void each_item(Visit visit) const {
        if (!node_.IsSequence()) refuse("a list");
        for (std::size_t i = 0; i < node_.size(); ++i)
            visit(place(node_[i], file_, key_ + "[" + std::to_string(i) + "]"));
    }
    bool is_map() const { return node_.IsMap(); }

    double number(double low, double high, const std::string& remark = "") const {
        std::ostringstream valid;
        valid << "a number from " << low << " to " << high << remark;
        const auto v = node_.IsScalar() ? read_number<double>(node_.Scalar()) : std::nullopt;
        if (!v || *v < low || *v > high) refuse(valid.str());
        return *v;
    }
    std::string text(const std::string& valid) const {
        if (!node_.IsScalar()) refuse(valid);
        return node_.Scalar();
    }
    std::size_t one_of(const std::vector<std::string>& names) const {
        const std::string t = text("one of " + list(names));
        const auto at = std::find(names.begin(), names.end(), t);
        if (at == names.end()) refuse("one of " + list(names));
        return static_cast<std::size_t>(at - names.begin());
    }

private:
    std::string join(const std::string& name) const {
        return key_.empty() ? name : key_ + "." + name;
    }
    YAML::Node node_;
    std::string file_, key_;
};

}  // namespace wip::profiles
