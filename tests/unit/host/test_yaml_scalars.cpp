// SPDX-License-Identifier: GPL-3.0-or-later
// The scalars of a configuration mean what the commands in Python make of them: the same table
// holds test_yaml_scalars.py. And a refusal keeps its end, whatever was written.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "config/schema.h"
#include "yaml/core_schema.h"
#include "yaml/place.h"

using namespace wip;
using namespace wip::config;

namespace {

const std::vector<key>& table() {
    static const std::vector<key> keys = {
        {.path = "integer",
         .type = kind::integer,
         .fallback = "1",
         .doc = "",
         .lowest = -1000,
         .highest = 1e5},
        {.path = "real",
         .type = kind::real,
         .fallback = "1",
         .doc = "",
         .lowest = -1e6,
         .highest = 1e6},
        {.path = "switch", .type = kind::boolean, .fallback = "on", .doc = ""},
        {.path = "text", .fallback = "", .doc = ""},
        {.path = "link.mode",
         .type = kind::choice,
         .fallback = "off",
         .doc = "",
         .choices = {"off", "on", "x"}},
        {.path = "nodes.*.name", .fallback = "", .doc = ""},
    };
    return keys;
}

struct row {
    std::string text, meaning;
    std::vector<std::string> taken;  // by the first three keys, "-": refused
};

std::vector<row> rows() {
    std::ifstream in(OPENWIP_SOURCE "/tests/vectors/yaml_scalars.tsv");
    std::vector<row> all;
    for (std::string line; std::getline(in, line);) {
        if (line.starts_with('#')) continue;
        std::istringstream columns(line);
        row r;
        std::getline(columns, r.text, '\t');
        std::getline(columns, r.meaning, '\t');
        for (std::string word; std::getline(columns, word, '\t');) r.taken.push_back(word);
        all.push_back(r);
    }
    return all;
}

std::string meaning_of(const std::string& text) {
    switch (yaml::meaning(text)) {
        case yaml::scalar::null:
            return "null";
        case yaml::scalar::boolean:
            return "boolean";
        case yaml::scalar::number:
            return "number";
        case yaml::scalar::text:
            return "text";
        case yaml::scalar::refused:
            return "refused";
    }
    return "";
}

// The value of `path` after `merge`, "-" when that is refused.
template <class Merge>
std::string taken(const std::string& path, const Merge& merge) {
    settings s(table());
    try {
        merge(s);
        return s.text(path);
    } catch (const error&) {
        return "-";
    }
}

std::string refusal_of(const std::string& yaml) {
    settings s(table());
    try {
        s.merge_yaml(yaml, "f.yaml");
    } catch (const error& e) {
        return e.what();
    }
    return "no error";
}

}  // namespace

TEST(YamlScalars, mean_what_the_table_says) {
    ASSERT_GT(rows().size(), 80U);
    for (const auto& r : rows()) {
        ASSERT_EQ(r.taken.size(), 3U) << r.text;
        EXPECT_EQ(meaning_of(r.text), r.meaning) << r.text;
        const bool refused =
            refusal_of("text: " + r.text).find("in quotes for a text") != std::string::npos;
        EXPECT_EQ(refused, r.meaning == "refused")
            << r.text << ": " << refusal_of("text: " + r.text);
    }
}

TEST(YamlScalars, give_a_setting_the_value_of_the_table_with_quotes_without_them_and_by_set) {
    for (const auto& r : rows())
        for (std::size_t i = 0; i < r.taken.size(); ++i) {
            const std::string& path = table()[i].path;
            const auto yaml = [&](const std::string& text) {
                return taken(path, [&](settings& s) { s.merge_yaml(path + ": " + text, "f"); });
            };
            EXPECT_EQ(yaml("'" + r.text + "'"), r.taken[i]) << path << " " << r.text;
            EXPECT_EQ(taken(path, [&](settings& s) { s.merge_assignment(path + "=" + r.text); }),
                      r.taken[i])
                << path << " " << r.text;
            EXPECT_EQ(yaml(r.text), r.meaning == "refused" ? "-" : r.taken[i])
                << path << " " << r.text;
        }
}

TEST(YamlScalars, of_a_text_are_read_back_as_the_same_text) {
    for (const auto& r : rows()) {
        settings s(table());
        s.merge_yaml("text: '" + r.text + "'\nnodes: {'" + (r.text.empty() ? "a" : r.text) +
                         "': {name: '" + r.text + "'}}",
                     "f");
        EXPECT_EQ(s.text("text"), r.text);
        settings again(table());
        ASSERT_NO_THROW(again.merge_yaml(s.to_yaml(), "again")) << s.to_yaml();
        EXPECT_EQ(again.text("text"), r.text) << s.to_yaml();
        EXPECT_EQ(again.entries("nodes"), s.entries("nodes")) << s.to_yaml();
        EXPECT_EQ(again.to_yaml(), s.to_yaml());
    }
}

TEST(YamlScalars, that_are_refused_are_named_with_line_key_value_and_what_to_write) {
    EXPECT_EQ(refusal_of("link: {mode: on}\ninteger: 010"),
              "f.yaml:2: integer = 010 begins with 0, which means octal in YAML 1.1 and nothing in "
              "YAML 1.2; valid: 10, or '010' in quotes for a text");
    EXPECT_EQ(
        refusal_of("link:\n  mode: 1_0"),
        "f.yaml:2: link.mode = 1_0 is a number in YAML 1.1 and a text in YAML 1.2; valid: 10, "
        "or '1_0' in quotes for a text");
    EXPECT_EQ(refusal_of("real: 0x1F"),
              "f.yaml:1: real = 0x1F is a number that is not decimal; valid: a decimal number, or "
              "'0x1F' in quotes for a text");
    EXPECT_EQ(refusal_of("text: [a, {b: 1:30}]"),
              "f.yaml:1: text.b = 1:30 is a number of base 60 in YAML 1.1 and a text in YAML 1.2; "
              "valid: a decimal number, or '1:30' in quotes for a text");
    EXPECT_EQ(refusal_of("010: 1").substr(0, 26), "f.yaml:1: 010 begins with ");
}

TEST(YamlDocuments, have_no_tags_and_are_one) {
    EXPECT_EQ(refusal_of("text: a\nreal: !!float 3"),
              "f.yaml:2: real = 3 has the tag tag:yaml.org,2002:float; valid: no tag");
    EXPECT_EQ(refusal_of("text: !x [a]"), "f.yaml:1: text has the tag !x; valid: no tag");
    EXPECT_EQ(refusal_of("integer: 2\n---\ninteger: 3"),
              "f.yaml:2: a second document begins here; valid: one");
    EXPECT_EQ(refusal_of("text: " + std::string(5000, '[')),
              "f.yaml:1: lists are nested more than 100 deep; valid: up to 100");
    EXPECT_EQ(refusal_of("integer: 2\n'integer': 3"), "f.yaml:2: integer: given twice");
}

TEST(YamlDocuments, merge_what_a_merge_key_names_and_end_when_it_names_itself) {
    settings s(table());
    s.merge_yaml("nodes:\n  a: &a {name: one}\n  b: {<<: *a}\n  c: {<<: [*a], name: two}", "f");
    EXPECT_EQ(s.text("nodes.b.name"), "one");
    EXPECT_EQ(s.text("nodes.c.name"), "two");
    EXPECT_NE(refusal_of("nodes: {a: {<<: 3}}").find("names '3'; valid: a mapping"),
              std::string::npos);
    const std::string deep = "merge keys are nested more than 100 deep; valid: up to 100";
    EXPECT_NE(refusal_of("nodes: {a: &a {<<: *a}}").find(deep), std::string::npos);
    EXPECT_NE(refusal_of("nodes: {a: &a {<<: [*a, *a]}}").find(deep), std::string::npos);
}

TEST(Refusals, lose_the_middle_of_what_is_long_and_never_what_is_valid) {
    const std::string many(900, 'x');
    const auto set = [](const std::string& assignment) {
        settings s(table());
        try {
            s.merge_assignment(assignment);
        } catch (const error& e) {
            return std::string(e.what());
        }
        return std::string("no error");
    };
    for (const auto& why :
         {set("integer=" + many), set(many), set("real=" + std::string(585, '7')),
          set("link.mode=" + many), set("nodes." + many + ".name=a"),
          refusal_of(many + ": 1\n" + many + ": 2"), refusal_of("integer: " + many),
          refusal_of("nodes: {" + many + ": 3}"), refusal_of("nodes: {" + many + ": {y: 3}}"),
          refusal_of("nodes: {" + many + ": {name: [1]}}"), refusal_of("link: {" + many + ": 1}"),
          refusal_of(many + ": 010"), refusal_of("text: " + std::string(700, '0') + "7"),
          refusal_of("text: !" + many + " a")}) {
        EXPECT_LT(why.size(), 600U) << why;
        EXPECT_NE(why.find("..."), std::string::npos) << why;
        const bool helps = why.find("valid") != std::string::npos ||
                           why.find("; valid: ") != std::string::npos ||
                           why.find("given twice") != std::string::npos;
        EXPECT_TRUE(helps) << why;
    }
    const std::string whole = error(many + many + many + "; valid: 3").what();
    EXPECT_TRUE(whole.ends_with("; valid: 3")) << whole;
    EXPECT_LE(whole.size(), longest_line);
}

TEST(Refusals, of_a_channel_definition_keep_their_end_too) {
    const std::string many(900, 'x');
    const auto refusal = [](const std::string& text) {
        try {
            const yaml::place top(text, "c.yaml");
            top.expect_keys({"a"});
            return std::to_string(top.at("a").number<double>(0, 9));
        } catch (const std::invalid_argument& e) {
            return std::string(e.what());
        }
    };
    for (const auto& why :
         {refusal("a: " + many), refusal(many + ": 1"), refusal(many + ": 1\n" + many + ": 2")}) {
        EXPECT_LT(why.size(), 400U);
        const bool helps =
            why.find("; valid: ") != std::string::npos || why.ends_with("given twice");
        EXPECT_TRUE(helps) << why;
    }
    EXPECT_EQ(refusal("a: '010'"), "c.yaml: a is '010'; valid: a number from 0 to 9");
    EXPECT_EQ(refusal("a: 010").substr(0, 26), "c.yaml:1: a = 010 begins w");
    EXPECT_EQ(refusal("a: 1e0"), "1.000000");
}

TEST(OneLine, cuts_between_characters) {
    std::string text;
    for (int i = 0; i < 100; ++i) text += "\u20ac";
    for (std::size_t longest = 3; longest < 100; ++longest) {
        const std::string cut = one_line(text, longest);
        EXPECT_LE(cut.size(), longest);
        EXPECT_EQ(printable(cut), cut);
        EXPECT_NE(cut.find("..."), std::string::npos);
    }
    EXPECT_EQ(one_line("a\nb\xff"), "a?b?");
}
