// SPDX-License-Identifier: GPL-3.0-or-later
// A place in a YAML file (node and full key), whose readers refuse a wrong value with an error of
// one line: file, key, value and what would be valid.
#pragma once

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <array>
#include <concepts>
#include <limits>
#include <sstream>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include "types/not_valid.h"
#include "types/number_text.h"
#include "types/one_line.h"
#include "yaml/walk.h"

namespace wip::yaml {

// Throws an error of one line, also if the text has several.
[[noreturn]] inline void refuse(const std::string& why) {
    throw std::invalid_argument(one_line(why));
}

inline std::string list(const std::vector<std::string>& names) {
    std::string s;
    for (const std::string& n : names) s += (s.empty() ? "" : ", ") + n;
    return s;
}

// A node of the file and its full key.
class place {
public:
    // The root of the file.
    place(const std::string& text, std::string file) : file_(std::move(file)) {
        read(
            text,
            [this](const YAML::Mark& mark, const std::string& why) {
                yaml::refuse(where(file_, mark) + ": " + why);
            },
            [this](const YAML::Node& root) { node_ = root; });
    }
    place(const YAML::Node& node, std::string file, std::string key)
        : node_(node.IsDefined() ? node : YAML::Node(YAML::NodeType::Undefined)),
          file_(std::move(file)),
          key_(std::move(key)) {}

    [[noreturn]] void refuse(const std::string& valid) const {
        yaml::refuse(file_ + ": " + not_valid(key_.empty() ? "file" : key_, show(node_), valid));
    }
    bool given() const { return node_.IsDefined() && !node_.IsNull(); }
    const YAML::Node& node() const { return node_; }

    void expect_keys(const std::vector<std::string>& known) const {
        if (!node_.IsMap()) refuse("a mapping with the keys " + list(known));
        each_entry([&](const std::string& name, const place&) {
            if (std::find(known.begin(), known.end(), name) == known.end())
                yaml::refuse(file_ + ": " + join(shown(name)) +
                             ": unknown key; valid: " + list(known));
        });
    }
    place at(const std::string& name) const { return {find(name), file_, join(name)}; }
    template <class Visit>
    void each_entry(Visit visit) const {
        if (!node_.IsMap()) refuse("a mapping");
        yaml::each_entry(
            node_,
            [this](const YAML::Node& key, const std::string& why) {
                yaml::refuse(file_ + ": " + (key.IsScalar() ? join(shown(key.Scalar())) : key_) +
                             ": " + why);
            },
            [&](const std::string& name, const YAML::Node& value, const YAML::Mark&) {
                visit(name, place(value, file_, join(name)));
            });
    }
    template <class Visit>
    void each_item(Visit visit) const {
        if (!node_.IsSequence()) refuse("a list");
        for (std::size_t i = 0; i < node_.size(); ++i)
            visit(place(node_[i], file_, key_ + "[" + std::to_string(i) + "]"));
    }
    bool is_map() const { return node_.IsMap(); }

    template <class Number = double>
    Number number(std::type_identity_t<Number> low = std::numeric_limits<Number>::lowest(),
                  std::type_identity_t<Number> high = std::numeric_limits<Number>::max(),
                  const std::string& remark = "") const {
        const auto v = node_.IsScalar() ? read_setting<Number>(node_.Scalar()) : std::nullopt;
        if (v && *v >= low && *v <= high) return *v;
        std::ostringstream valid;
        valid << (std::integral<Number> ? "a whole number" : "a number");
        if (low > std::numeric_limits<Number>::lowest()) valid << " from " << low << " to " << high;
        refuse(valid.str() + remark);
    }
    template <class Number = double>
    std::vector<Number> numbers() const {
        std::vector<Number> all;
        each_item([&all](const place& p) { all.push_back(p.number<Number>()); });
        return all;
    }
    template <std::size_t n, class Number = double>
    std::array<Number, n> just() const {
        const auto all = numbers<Number>();
        if (all.size() != n) refuse(std::to_string(n) + " numbers");
        std::array<Number, n> exact{};
        std::copy(all.begin(), all.end(), exact.begin());
        return exact;
    }
    std::string text(const std::string& valid) const {
        if (!node_.IsScalar()) refuse(valid);
        return node_.Scalar();
    }
    bool is_list() const { return node_.IsSequence(); }
    std::vector<std::string> texts() const {
        std::vector<std::string> all;
        each_item([&all](const place& p) { all.push_back(p.text("a word")); });
        return all;
    }
    std::size_t one_of(const std::vector<std::string>& names) const {
        const std::string t = text("one of " + list(names));
        const auto at = std::find(names.begin(), names.end(), t);
        if (at == names.end()) refuse("one of " + list(names));
        return static_cast<std::size_t>(at - names.begin());
    }

private:
    YAML::Node find(const std::string& name) const {
        YAML::Node found(YAML::NodeType::Undefined);
        if (!node_.IsMap()) return found;
        each_entry([&](const std::string& of, const place& value) {
            if (of == name) found.reset(value.node_);
        });
        return found;
    }
    std::string join(const std::string& name) const {
        return key_.empty() ? name : key_ + "." + name;
    }
    YAML::Node node_;
    std::string file_, key_;
};

}  // namespace wip::yaml
