// SPDX-License-Identifier: GPL-3.0-or-later
// Checks a YAML text before it is read: it has one document of limited depth, whose scalars have
// one meaning (yaml/core_schema.h), without tags, which would change it. The check follows the
// parser's events, so that aliases are not expanded.
#pragma once

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include <sstream>
#include <string>
#include <vector>

#include "yaml/core_schema.h"

namespace wip::yaml {

struct refused {
    YAML::Mark mark;
    std::string why;
};

// Throws `refused`.
class document_check final : public YAML::EventHandler {
public:
    void OnDocumentStart(const YAML::Mark& mark) override {
        if (++documents_ > 1) throw refused{mark, "a second document begins here; valid: one"};
    }
    void OnDocumentEnd() override {}
    void OnNull(const YAML::Mark&, YAML::anchor_t) override { value(""); }
    void OnAlias(const YAML::Mark&, YAML::anchor_t) override { value("*"); }
    void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t,
                  const std::string& text) override {
        check_tag(mark, tag, text);
        if (tag == plain)
            if (const auto why = refusal(text); !why.empty())
                throw refused{mark, place(text) + why};
        value(text);
    }
    void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t,
                         YAML::EmitterStyle::value) override {
        open(mark, tag, false);
    }
    void OnSequenceEnd() override { close(); }
    void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t,
                    YAML::EmitterStyle::value) override {
        open(mark, tag, true);
    }
    void OnMapEnd() override { close(); }

private:
    struct level {
        bool is_map;
        bool expects_key;
        std::string key;
    };
    static constexpr std::size_t deepest = 100;
    static constexpr const char* plain = "?";  // what yaml-cpp calls an untagged plain scalar

    void check_tag(const YAML::Mark& mark, const std::string& tag, const std::string& text) const {
        if (!tag.empty() && tag != plain && tag != "!")
            throw refused{mark, place(text) + "has the tag " + shown(tag) + "; valid: no tag"};
    }
    void open(const YAML::Mark& mark, const std::string& tag, bool is_map) {
        check_tag(mark, tag, "");
        if (levels_.size() == deepest)
            throw refused{mark, "lists are nested more than 100 deep; valid: up to 100"};
        levels_.push_back({is_map, is_map, ""});
    }
    void close() {
        levels_.pop_back();
        value("");
    }
    // Called at the end of a key or value of the innermost mapping.
    void value(const std::string& text) {
        if (levels_.empty() || !levels_.back().is_map) return;
        if (levels_.back().expects_key) levels_.back().key = text;
        levels_.back().expects_key = !levels_.back().expects_key;
    }
    // The place of a scalar for a message: `KEY.KEY = TEXT`, or `KEY.KEY: TEXT` for a key.
    std::string place(const std::string& text) const {
        std::string path;
        for (const auto& l : levels_)
            if (l.is_map && !l.expects_key && !l.key.empty())
                path += (path.empty() ? "" : ".") + l.key;
        const bool is_key = !levels_.empty() && levels_.back().expects_key;
        const std::string shown_text = text.empty() ? "" : shown(text) + " ";
        if (path.empty()) return shown_text;
        return shown(path) + (is_key ? ": " : text.empty() ? " " : " = ") + shown_text;
    }

    int documents_ = 0;
    std::vector<level> levels_;
};

inline void check_document(const std::string& text) {
    std::istringstream in(text);
    YAML::Parser parser(in);
    document_check check;
    while (parser.HandleNextDocument(check)) {
    }
}

}  // namespace wip::yaml
