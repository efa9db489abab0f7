// SPDX-License-Identifier: GPL-3.0-or-later
// Rows of the table of settings as the processes and the monitor have them. (How the build makes
// them of the table: tests/unit/cli/test_settings_code.py; that a new setting needs one entry:
// test_new_setting.py.)
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "config/setting_rules.h"
#include "config/settings_table.h"
#include "types/slots_of.h"

using namespace wip::config;

namespace {

std::vector<key> keys_of_rows(const std::vector<setting_row>& rows) {
    std::vector<key> all;
    for (const auto& row : rows) all.push_back(make_key(row));
    return all;
}

std::string error_of(const std::function<void()>& action) {
    try {
        action();
    } catch (const error& e) {
        return e.what();
    }
    return "no error";
}

const control_row* row_of(const std::vector<control_row>& rows, const std::string& name) {
    const auto at = std::find_if(rows.begin(), rows.end(), [&](const control_row& r) {
        return r.station + " " + r.key == name;
    });
    return at == rows.end() ? nullptr : &*at;
}

}  // namespace

// The same values as in tests/unit/cli/test_sums.py: commands and processes count alike.
TEST(SettingsTable, ATimeTakesWholeSlots) {
    EXPECT_EQ(wip::slots_of_ms(2), 3);
    EXPECT_EQ(wip::slots_of_ms(2.01), 4);
    EXPECT_EQ(wip::slots_of_ms(8.0 / 3), 4);
    EXPECT_EQ(wip::slots_of_ms(32), 48);
}

TEST(SettingsTable, ARowIsAKeyOfAProcess) {
    const auto keys = keys_of_rows({{.path = "link.eagerness",
                                     .type = kind::integer,
                                     .fallback = "4",
                                     .doc = "how eager the link is",
                                     .unit = "tries",
                                     .live = "base",
                                     .lowest = 2,
                                     .highest = 9,
                                     .whole = true}});
    settings s(keys);
    EXPECT_EQ(s.integer("link.eagerness"), 4);
    s.merge_yaml("link: {eagerness: 7}", "configure", true);
    EXPECT_EQ(s.integer("link.eagerness"), 7);
    EXPECT_NE(s.to_yaml().find("  eagerness: 7\n"), std::string::npos);
    EXPECT_EQ(error_of([&] { s.merge_assignment("link.eagerness=1"); }),
              "--set: link.eagerness is 1; valid: an integer 2..9 tries");
}

TEST(SettingsTable, TheMonitorHasEachSettingOnceUnderItsHeading) {
    const auto rows = controls();
    std::vector<std::string> headings;
    for (const auto& r : rows) {
        EXPECT_EQ(row_of(rows, r.station + " " + r.key), &r) << r.key << " twice";
        if (headings.empty() || headings.back() != r.group) headings.push_back(r.group);
        EXPECT_EQ(r.type == control_row::kind::choice, !r.choices.empty()) << r.key;
        EXPECT_TRUE(!r.choices.empty() || r.low < r.high) << r.key;
    }
    EXPECT_EQ(headings, (std::vector<std::string>{"Downlink", "Receiver", "Channel", "UMTS",
                                                  "Handover", "Uplink", "Telemetry"}));
    // One window for both kinds of cell: the wider range, and the row of each station that takes
    // it.
    EXPECT_EQ(row_of(rows, "air channel.snr_db")->low, -60);
    EXPECT_NE(row_of(rows, "base link.combining"), nullptr);
    EXPECT_NE(row_of(rows, "terminal link.combining"), nullptr);
    EXPECT_NE(row_of(rows, "base telemetry.slot_every"), nullptr);
    EXPECT_EQ(row_of(rows, "air channel.blackout")->choices.size(), 5U);
}

TEST(SettingsTable, AWordIsValidBesideTheRangeAndAListHasItsOwn) {
    const auto keys = keys_of_rows({{.path = "s",
                                     .type = kind::number_or_word,
                                     .fallback = "off",
                                     .lowest = 0,
                                     .highest = 20,
                                     .words = "own|on|off"},
                                    {.path = "l",
                                     .type = kind::numbers,
                                     .lowest = 1,
                                     .highest = 9,
                                     .most = 2,
                                     .whole = true}});
    settings s(keys);
    for (const auto* word : {"own", "on", "off"}) {
        s.merge_assignment(std::string("s=") + word);
        EXPECT_EQ(s.text("s"), word);
        EXPECT_FALSE(s.number("s"));
    }
    s.merge_yaml("s: true", "f");
    EXPECT_EQ(s.text("s"), "on");
    s.merge_assignment("s=4.50");
    EXPECT_EQ(s.number("s"), 4.5);
    EXPECT_TRUE(s.numbers("l").empty());
    s.merge_assignment("l=3, 9");
    EXPECT_EQ(s.numbers("l"), (std::vector<double>{3, 9}));
    EXPECT_EQ(s.text("l"), "3,9");
    EXPECT_EQ(error_of([&] { s.merge_assignment("s=21"); }),
              "--set: s is 21; valid: a number 0..20, or own, on, off");
    for (const auto* bad : {"l=0", "l=1.5", "l=1,2,3", "l=a", "l=1,,2", "s=On", "s=nan"})
        EXPECT_NE(error_of([&] { s.merge_assignment(bad); }).find("; valid: "), std::string::npos)
            << bad;
}

TEST(SettingsTable, EntriesOfAMappingAndOfAListHaveTheirOwnKeys) {
    const auto keys = keys_of_rows(
        {{.path = "nodes.*.level", .type = kind::real, .fallback = "1", .lowest = 0, .highest = 9},
         {.path = "paths[].from", .type = kind::text, .doc = "a node", .required = true},
         {.path = "paths[].gain", .type = kind::real, .fallback = "2", .lowest = 0, .highest = 9}});
    settings s(keys);
    s.merge_yaml("nodes: {a: , b.c: {level: 3}}\npaths:\n- {from: a}\n- {from: b.c, gain: 4}\n",
                 "f");
    s.finish();
    EXPECT_EQ(s.entries("nodes"), (std::vector<std::string>{"nodes.a", "nodes.b.c"}));
    EXPECT_EQ(s.entries("paths"), (std::vector<std::string>{"paths[0]", "paths[1]"}));
    EXPECT_EQ(s.real("nodes.a.level"), 1);
    EXPECT_EQ(s.real("nodes.b.c.level"), 3);
    EXPECT_EQ(s.text("paths[1].from"), "b.c");
    EXPECT_EQ(s.real("paths[0].gain"), 2);
    EXPECT_TRUE(s.given("paths[1].gain"));
    EXPECT_FALSE(s.given("paths[0].gain"));
    const auto error_of_yaml = [&](const std::string& yaml) {
        return error_of([&] {
            settings t(keys);
            t.merge_yaml(yaml, "f");
            t.finish();
        });
    };
    EXPECT_EQ(error_of_yaml("paths:\n- {from: a}\n- {gain: 3}\n"),
              "f:3: paths[1].from is missing; valid: a node");
    EXPECT_EQ(error_of_yaml("nodes: {a: {level: 10}}"),
              "f:1: nodes.a.level is 10; valid: a number 0..9");
    EXPECT_EQ(error_of_yaml("nodes: [a]"),
              "f:1: nodes is a list; valid: a mapping of names, for example base: {}");
    EXPECT_EQ(error_of_yaml("nodes: {a: 3}"), "f:1: nodes.a is 3; valid: a mapping");
    EXPECT_EQ(error_of_yaml("nodes: {a: , a: }"), "f:1: nodes.a: given twice");
    EXPECT_EQ(error_of_yaml("paths: {from: a}"),
              "f:1: paths is a mapping; valid: a list of mappings");
    EXPECT_NE(error_of_yaml("nodes: {a: {colour: 3}}").find("nodes.a.colour: unknown key"),
              std::string::npos);
}

TEST(SettingsTable, ImpairmentsAreAListWithTheNamesAndFieldsOfTheTable) {
    const auto keys = keys_of_rows({{.path = "i", .type = kind::tree}});
    settings s(keys);
    EXPECT_TRUE(s.items("i").empty());
    s.merge_yaml("i: [{cfo_hz: 3e3}, {tone: {dbfs: -30, hz: 1e6}}, {tone: {}}]", "f");
    const auto items = s.items("i");
    ASSERT_EQ(items.size(), 3U);
    EXPECT_EQ(items[0].kind, "cfo");
    EXPECT_EQ(items[0].written, "cfo_hz");
    EXPECT_EQ(items[0].fields.at("hz"), 3000);
    EXPECT_EQ(items[1].fields.at("dbfs"), -30);
    for (const auto* bad : {"3", "[3]", "[{}]", "[{cfo_hz: x}]", "[{cfo_hz: 1, tone: {}}]",
                            "[{hum: 50}]", "[{cfo: {herz: 1}}]", "[{tone: 3}]", "{cfo_hz: 3}",
                            "[{cfo: {hz: .nan}}]", "[{cfo_hz: {hz: 3}}]"}) {
        const std::string why = error_of([&] { s.merge_yaml(std::string("i: ") + bad, "f"); });
        EXPECT_TRUE(why.starts_with("f:1: i is ")) << why;
        EXPECT_NE(why.find("valid: a list such as"), std::string::npos) << why;
    }
}

TEST(SettingsTable, WhatBothEndsNeedTheSameIsComparedLineByLine) {
    const auto keys = keys_of_rows(
        {{.path = "link.profile",
          .type = kind::choice,
          .fallback = "radio",
          .choices = "radio|wipemu",
          .format = true},
         {.path = "link.bins", .type = kind::integer, .fallback = "10", .whole = true},
         {.path = "link.packing", .type = kind::boolean, .fallback = "on", .format = true}});
    settings s(keys);
    const auto ours = s.format();
    EXPECT_EQ(ours, (std::vector<std::string>{"link.profile = radio", "link.packing = on"}));
    EXPECT_EQ(s.misfit(ours), "");
    auto theirs = ours;
    theirs.front() = "link.profile = wipemu";
    EXPECT_EQ(s.misfit(theirs),
              "here is link.profile = radio, there link.profile = wipemu; valid: the same at both "
              "ends");
    theirs = ours;
    theirs.push_back("link.later = 3");
    EXPECT_EQ(s.misfit(theirs),
              "here is nothing, there link.later = 3; valid: the same at both ends");
    EXPECT_NE(s.misfit({}), "");
}

TEST(SettingsTable, ACheckThatTheProgramDoesNotHaveIsABug) {
    const setting_row row{.path = "a", .type = kind::text, .check = "taste"};
    EXPECT_EQ(error_of([&] { make_key(row); }),
              "settings.yaml: a: check = taste; valid: a check that the program has");
    const text_checks own{{"taste", [](std::string_view) { return std::string("sweet"); }}};
    EXPECT_EQ(make_key(row, own).check(""), "sweet");
}

TEST(SettingsTable, ASumNamesAllItsSettingsAndTheLeastTime) {
    const auto keys = keys_of_rows(
        {{.path = "ms", .type = kind::real, .fallback = "2", .lowest = 0, .highest = 100},
         {.path = "a", .type = kind::integer, .fallback = "0", .highest = 50, .whole = true},
         {.path = "b", .type = kind::integer, .fallback = "0", .highest = 50, .whole = true}});
    const setting_sum sum{"ms", "a|b", 3, "for the feedback"};
    const auto refusal = [&](const std::vector<std::string>& assignments) {
        return error_of([&] {
            settings s(keys);
            for (const auto& a : assignments) s.merge_assignment(a);
            check_sums(s, std::span(&sum, 1));
        });
    };
    EXPECT_EQ(refusal({"a=8", "b=2"}),
              "default: ms is 2: its 3 slots are fewer than a = 8 + b = 2 + 3 for the feedback; "
              "valid: 8.66 ms or more, or lower values of the others");
    EXPECT_EQ(refusal({"ms=8.65", "a=8", "b=2"}), "no error");  // 12.98 slots take 13
    EXPECT_NE(refusal({"ms=8", "a=8", "b=2"}), "no error");
    // The time that is said to be valid is.
    for (int a = 0; a <= 42; ++a) {
        const std::string why = refusal({"ms=1", "a=" + std::to_string(a)});
        const auto begin = why.find("valid: ") + 7;
        const auto ms = why.substr(begin, why.find(' ', begin) - begin);
        EXPECT_EQ(refusal({"ms=" + ms, "a=" + std::to_string(a)}), "no error") << ms;
        EXPECT_NE(refusal({"ms=" + ms, "a=" + std::to_string(a + 1)}), "no error") << ms;
    }
}

TEST(SettingsTable, ARuleNamesBothSettingsWithTheirValuesAndWhatIsValid) {
    const auto keys =
        keys_of_rows({{.path = "a", .type = kind::boolean, .fallback = "off"},
                      {.path = "b", .type = kind::choice, .fallback = "x", .choices = "x|y|z"},
                      {.path = "c", .type = kind::text, .fallback = ""}});
    const auto refusal = [&](const setting_rule& rule,
                             const std::vector<const char*>& assignments) {
        return error_of([&] {
            settings s(keys);
            for (const auto* a : assignments) s.merge_assignment(a);
            check_rules(s, std::span(&rule, 1));
        });
    };
    const setting_rule of_a{"a", "on", nullptr, "b", "y|z", nullptr, "which is narrow", "off"};
    EXPECT_EQ(refusal(of_a, {"a=on"}),
              "--set: a is on: with b = x, which is narrow; valid: off, or b = y or z");
    EXPECT_EQ(refusal(of_a, {"a=on", "b=z"}), "no error");
    EXPECT_EQ(refusal(of_a, {}), "no error");
    const setting_rule of_b{"b", nullptr, "x", "c", nullptr, "*.h5", "which has its own", "x"};
    EXPECT_EQ(refusal(of_b, {"b=y", "c=t.h5"}),
              "--set: b is y: with c = t.h5, which has its own; valid: x, or another c");
    EXPECT_EQ(refusal(of_b, {"b=y", "c=h5"}), "no error");
    EXPECT_EQ(refusal(of_b, {"c=t.h5"}), "no error");
    const setting_rule of_c{"c", nullptr, "", "a", "off", nullptr, "so it is read", ""};
    EXPECT_EQ(refusal(of_c, {"c=t", "a=on"}),
              "--set: c is t: with a = on, so it is read; valid: nothing, or a = off");
}

TEST(SettingsTable, EveryRuleIsAboutSettingsOfItsProcess) {
    std::size_t rules = 0;
    for (const auto of : {process::macd, process::emulator, process::medium, process::fader,
                          process::tcpl, process::observer, process::split})
        for (const auto& rule : rules_of(of)) {
            const auto has = [&](std::string_view key) {
                return std::ranges::any_of(rows_of(of),
                                           [&](const setting_row& row) { return row.path == key; });
            };
            EXPECT_TRUE(has(rule.of) && has(rule.needs)) << rule.of << " " << rule.needs;
            ++rules;
        }
    EXPECT_GT(rules, 40U);
}
