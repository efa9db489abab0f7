// SPDX-License-Identifier: GPL-3.0-or-later
// The table of settings: what its columns become in the processes and in the monitor, and that a
// setting which nobody has heard of needs one entry. (The Python half: test_new_setting.py.)
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <functional>
#include <sstream>

#include "config/settings_table.h"

using namespace wip::config;

namespace {

std::string shipped() {
    std::ifstream in(OPENWIP_SOURCE "/mac/schema/settings.yaml");
    std::ostringstream text;
    text << in.rdbuf();
    return text.str();
}

// A copy of the table with one more entry among those of the link.
settings_table with(const std::string& entry) {
    std::string text = shipped();
    text.insert(text.find("  link.packing:"), entry);
    return {text, "scratch.yaml"};
}

settings_table only(const std::string& entries) { return {"settings:\n" + entries, "t.yaml"}; }

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

std::string no_rule(std::string_view) { return {}; }

}  // namespace

TEST(SettingsTable, ASettingThatNobodyHasHeardOfNeedsOneEntry) {
    const auto table = with(
        "  link.eagerness: {in: [macd, emulator, demo, emulate], type: integer, range: 2..9, "
        "default: 4,\n    unit: tries, flag: --eagerness, live: base, monitor: {Downlink: "
        "Eagerness}, help: how eager the link is}\n");
    const text_checks own{{"interface_name", no_rule}, {"interface_address", no_rule}};
    for (const auto* process : {"macd", "emulator"}) {
        const auto keys = table.keys(process, own);
        settings s(keys);
        EXPECT_EQ(s.integer("link.eagerness"), 4);
        s.merge_yaml("link: {eagerness: 7}", "configure", true);
        EXPECT_EQ(s.integer("link.eagerness"), 7);
        EXPECT_NE(s.to_yaml().find("  eagerness: 7\n"), std::string::npos);
        EXPECT_EQ(error_of([&] { s.merge_assignment("link.eagerness=1"); }),
                  "--set: link.eagerness = 1: not valid; expected an integer 2..9 tries");
    }
    const auto rows = table.controls();
    const auto* row = row_of(rows, "base link.eagerness");
    ASSERT_NE(row, nullptr);
    EXPECT_EQ(row->group, "Downlink");
    EXPECT_EQ(row->label, "Eagerness");
    EXPECT_EQ(row->type, control_row::kind::whole);
    EXPECT_EQ(row->low, 2);
    EXPECT_EQ(row->high, 9);
    EXPECT_EQ(row->unit, "tries");
    EXPECT_EQ(row->help, "How eager the link is");
}

TEST(SettingsTable, WhatIsBuiltInIsTheFile) {
    const settings_table file(shipped(), "settings.yaml");
    EXPECT_EQ(to_markdown(file.keys("observer", {{"stations", no_rule}})),
              to_markdown(settings_table::built_in().keys("observer", {{"stations", no_rule}})));
    EXPECT_EQ(file.controls().size(), settings_table::built_in().controls().size());
}

TEST(SettingsTable, TheMonitorHasEachSettingOnceUnderItsHeading) {
    const auto rows = settings_table::built_in().controls();
    std::vector<std::string> headings;
    for (const auto& r : rows) {
        EXPECT_EQ(row_of(rows, r.station + " " + r.key), &r) << r.key << " twice";
        if (headings.empty() || headings.back() != r.group) headings.push_back(r.group);
        EXPECT_EQ(r.type == control_row::kind::choice, !r.choices.empty()) << r.key;
        EXPECT_TRUE(!r.choices.empty() || r.low < r.high) << r.key;
    }
    EXPECT_EQ(headings, (std::vector<std::string>{"Downlink", "Receiver", "Channel", "UMTS",
                                                  "Uplink", "Telemetry"}));
    // One window for both kinds of cell: the wider range, and the row of each station that takes
    // it.
    EXPECT_EQ(row_of(rows, "air channel.snr_db")->low, -60);
    EXPECT_NE(row_of(rows, "base link.combining"), nullptr);
    EXPECT_NE(row_of(rows, "terminal link.combining"), nullptr);
    EXPECT_NE(row_of(rows, "base telemetry.slot_every"), nullptr);
    EXPECT_EQ(row_of(rows, "air channel.blackout")->choices.size(), 5U);
}

TEST(SettingsTable, AColumnOfAProgramGoesOverTheGeneralOneAndLikeLendsTheRest) {
    const auto table = only(
        "  a.b: {in: [macd, tcpl], type: real, range: 0..1, default: 0.5, unit: s, help: x, tcpl: "
        "{range: 0..2, default: 2}}\n  c: {in: [macd], like: a.b, default: 1, help: y}\n");
    const auto macd = table.keys("macd"), tcpl = table.keys("tcpl");
    ASSERT_EQ(macd.size(), 2U);
    ASSERT_EQ(tcpl.size(), 1U);
    EXPECT_EQ(macd[0].highest, 1);
    EXPECT_EQ(tcpl[0].highest, 2);
    EXPECT_EQ(tcpl[0].fallback, "2");
    EXPECT_EQ(macd[1].highest, 1);
    EXPECT_EQ(macd[1].fallback, "1");
    EXPECT_EQ(macd[1].unit, "s");
    EXPECT_EQ(macd[1].doc, "y");
}

TEST(SettingsTable, AWordIsValidBesideTheRangeAndAListHasItsOwn) {
    const auto keys = only(
                          "  s: {in: [macd], type: real, range: 0..20, words: [own, on, off], "
                          "default: off, help: x}\n"
                          "  l: {in: [macd], type: integers, most: 2, range: 1..9, help: x}\n")
                          .keys("macd");
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
              "--set: s = 21: not valid; expected a number 0..20, or own, on, off");
    for (const auto* bad : {"l=0", "l=1.5", "l=1,2,3", "l=a", "l=1,,2", "s=On", "s=nan"})
        EXPECT_NE(error_of([&] { s.merge_assignment(bad); }).find("not valid"), std::string::npos)
            << bad;
}

TEST(SettingsTable, EntriesOfAMappingAndOfAListHaveTheirOwnKeys) {
    const auto table = only(
        "  nodes.*.level: {in: [medium], type: real, range: 0..9, default: 1, help: x}\n"
        "  paths[].from: {in: [medium], type: text, required: yes, help: a node}\n"
        "  paths[].gain: {in: [medium], type: real, range: 0..9, default: 2, help: x}\n");
    const auto keys = table.keys("medium");
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
    const auto of = [&](const std::string& yaml) {
        return error_of([&] {
            settings t(keys);
            t.merge_yaml(yaml, "f");
            t.finish();
        });
    };
    EXPECT_EQ(of("paths:\n- {from: a}\n- {gain: 3}\n"),
              "f:3: paths[1].from: missing; expected a node");
    EXPECT_EQ(of("nodes: {a: {level: 10}}"),
              "f:1: nodes.a.level = 10: not valid; expected a number 0..9");
    EXPECT_EQ(of("nodes: [a]"),
              "f:1: nodes = a list: not valid; expected a mapping of names, for example base: {}");
    EXPECT_EQ(of("nodes: {a: 3}"), "f:1: nodes.a = 3: not valid; expected a mapping");
    EXPECT_EQ(of("nodes: {a: , a: }"), "f:1: nodes.a: given twice");
    EXPECT_EQ(of("paths: {from: a}"),
              "f:1: paths = a mapping: not valid; expected a list of mappings");
    EXPECT_NE(of("nodes: {a: {colour: 3}}").find("nodes.a.colour: unknown key"), std::string::npos);
}

TEST(SettingsTable, ImpairmentsAreAListWithTheNamesAndFieldsOfTheTable) {
    const auto table = settings_table(
        "settings:\n  i: {in: [medium], type: impairments, help: x}\nimpairments:\n  cfo: {short: "
        "cfo_hz, fields: [hz, drift]}\n  tone: {fields: [dbfs, hz]}\n",
        "t.yaml");
    const auto keys = table.keys("medium");
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
        EXPECT_TRUE(why.starts_with("f:1: i = ")) << why;
        EXPECT_NE(why.find("expected a list such as"), std::string::npos) << why;
    }
}

TEST(SettingsTable, WhatBothEndsNeedTheSameIsComparedLineByLine) {
    const text_checks own{{"interface_name", no_rule}, {"interface_address", no_rule}};
    const auto keys = settings_table::built_in().keys("macd", own);
    settings s(keys);
    const auto ours = s.format();
    ASSERT_GE(ours.size(), 5U);
    EXPECT_NE(std::find(ours.begin(), ours.end(), "link.packing = on"), ours.end());
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

TEST(SettingsTable, ATableThatIsNoneIsRefusedWithItsLine) {
    EXPECT_EQ(error_of([] { only("  a: {in: [macd], tpye: real}\n"); }),
              "t.yaml:2: a: unknown column tpye");
    EXPECT_EQ(error_of([] { only("  a: {in: [mcad]}\n"); }), "t.yaml:2: a: unknown program mcad");
    EXPECT_EQ(error_of([] { only("  a: {in: [macd]}\n  a: {in: [macd]}\n"); }),
              "t.yaml:3: a: given twice");
    EXPECT_EQ(error_of([] { only("  a: {in: [macd], like: b}\n"); }),
              "t.yaml: a: like b, which there is not");
    EXPECT_EQ(error_of([] { only("  a: {in: [macd], type: text, check: taste}\n").keys("macd"); }),
              "t.yaml: a: check = taste: the program has none");
    EXPECT_NE(error_of([] { only("  a: {in: [macd]"); }).find("not YAML"), std::string::npos);
}
