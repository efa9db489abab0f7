// SPDX-License-Identifier: GPL-3.0-or-later
// Settings: layers, checks, and what every kind of bad input is answered with.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <functional>

#include "config/schema.h"

using namespace wip::config;

namespace {

std::string check_even(std::string_view text) { return text == "even" ? "" : "the word even"; }

const std::vector<key>& table() {
    static const std::vector<key> keys = {
        {.path = "role",
         .type = kind::choice,
         .doc = "which end",
         .choices = {"base", "terminal"},
         .required = true},
        {.path = "link.bins",
         .type = kind::integer,
         .fallback = "10",
         .doc = "bins",
         .lowest = 1,
         .highest = 25,
         .runtime = true},
        {.path = "link.loss",
         .type = kind::real,
         .fallback = "0",
         .doc = "loss",
         .lowest = 0,
         .highest = 1},
        {.path = "link.delay_ms",
         .type = kind::real,
         .fallback = "2",
         .doc = "delay",
         .unit = "ms",
         .lowest = 2,
         .highest = 32},
        {.path = "link.combining", .type = kind::boolean, .fallback = "on", .doc = "combining"},
        {.path = "word", .fallback = "even", .doc = "a word", .check = check_even},
        {.path = "free", .fallback = "", .doc = "any text"},
    };
    return keys;
}

std::string error_of(const std::function<void(settings&)>& action) {
    settings s(table());
    try {
        action(s);
    } catch (const error& e) {
        return e.what();
    }
    return "no error";
}
std::string error_in(const std::string& yaml) {
    return error_of([&](settings& s) { s.merge_yaml(yaml, "f.yaml"); });
}

struct temporary_file {
    explicit temporary_file(const std::string& content) {
        path = testing::TempDir() + "openwip_config_" + std::to_string(::getpid()) + ".yaml";
        std::ofstream(path) << content;
    }
    ~temporary_file() { std::remove(path.c_str()); }
    std::string path;
};

}  // namespace

TEST(Config, FlagsLieOverTheFileAndTheFileOverTheDefaults) {
    settings s(table());
    const temporary_file f("role: base\nlink:\n  bins: 5\n  loss: 0.25\n");
    s.merge_file(f.path);
    s.merge_assignment("link.bins=7");
    s.finish();
    EXPECT_EQ(s.integer("link.bins"), 7);
    EXPECT_EQ(s.real("link.loss"), 0.25);
    EXPECT_EQ(s.real("link.delay_ms"), 2);
    EXPECT_TRUE(s.flag("link.combining"));
}
TEST(Config, AnEmptyFileOrSectionChangesNothing) {
    settings s(table());
    s.merge_yaml("", "f");
    s.merge_yaml("# only a comment\n", "f");
    s.merge_yaml("link:\n", "f");
    EXPECT_EQ(s.integer("link.bins"), 10);
}
TEST(Config, EveryBooleanWordIsUnderstood) {
    for (const auto* w : {"on", "true", "yes"}) {
        settings s(table());
        s.merge_assignment(std::string("link.combining=") + w);
        EXPECT_TRUE(s.flag("link.combining")) << w;
    }
    for (const auto* w : {"off", "false", "no"}) {
        settings s(table());
        s.merge_assignment(std::string("link.combining=") + w);
        EXPECT_FALSE(s.flag("link.combining")) << w;
    }
}
TEST(Config, ThePrintedConfigurationReadsBackToTheSame) {
    settings s(table());
    s.merge_assignment("role=terminal");
    s.merge_assignment("link.loss=0.125");
    s.merge_assignment("free=a: 'quoted' #word");
    settings again(table());
    again.merge_yaml(s.to_yaml(), "printed");
    EXPECT_EQ(again.to_yaml(), s.to_yaml());
    EXPECT_EQ(again.text("free"), "a: 'quoted' #word");
    EXPECT_TRUE(again.changed_from(s).empty());
}
TEST(Config, ARangeErrorNamesFileLineKeyValueAndRange) {
    EXPECT_EQ(error_in("link:\n  bins: 26\n"),
              "f.yaml:2: link.bins is 26; valid: an integer 1..25");
    EXPECT_EQ(error_in("link:\n  delay_ms: 1.9\n"),
              "f.yaml:2: link.delay_ms is 1.9; valid: a number 2..32 ms");
}
TEST(Config, BothEndsOfARangeAreValidAndTheNextValuesAreNot) {
    for (const auto* v : {"1", "25"})
        EXPECT_EQ(error_in(std::string("link: {bins: ") + v + "}"), "no error");
    for (const auto* v : {"0", "26", "-1"})
        EXPECT_NE(error_in(std::string("link: {bins: ") + v + "}"), "no error");
}
TEST(Config, AWrongTypeIsRefused) {
    for (const auto* v :
         {"many", "1.5", "1x", "''", "[1]", "{a: 1}", "", "0x10", "99999999999999999999"})
        EXPECT_NE(error_in(std::string("link: {bins: ") + v + "}").find("link.bins"),
                  std::string::npos)
            << v;
    for (const auto* v : {"nan", ".nan", "inf", "one", "0,5"})
        EXPECT_NE(error_in(std::string("link: {loss: \"") + v + "\"}").find("link.loss is "),
                  std::string::npos)
            << v;
    EXPECT_EQ(error_in("link: {combining: maybe}"),
              "f.yaml:1: link.combining is maybe; valid: on or off");
}
TEST(Config, AListWhereAValueBelongsIsNamed) {
    EXPECT_EQ(error_in("link: {bins: [1, 2]}"),
              "f.yaml:1: link.bins is a list; valid: an integer 1..25");
}
TEST(Config, AnUnknownKeyIsAnsweredWithTheNearestOne) {
    EXPECT_EQ(error_in("link:\n  binz: 5\n"),
              "f.yaml:2: link.binz: unknown key; did you mean link.bins?");
    EXPECT_EQ(error_in("bins: 5\n"), "f.yaml:1: bins: unknown key; did you mean link.bins?");
}
TEST(Config, AnUnknownKeyNearToNothingIsAnsweredWithTheValidOnes) {
    EXPECT_EQ(error_in("link:\n  antennas: 5\n"),
              "f.yaml:2: link.antennas: unknown key; valid: link.bins, link.loss, "
              "link.delay_ms, link.combining");
    EXPECT_EQ(error_in("frequency: 5\n"),
              "f.yaml:1: frequency: unknown key; valid: role, link, word, free");
}
TEST(Config, AWrongChoiceIsAnsweredWithTheChoices) {
    EXPECT_EQ(error_in("role: bose\n"),
              "f.yaml:1: role is bose; valid: one of: base, terminal; did you mean base?");
}
TEST(Config, ADuplicateKeyIsRefused) {
    EXPECT_EQ(error_in("link:\n  bins: 5\n  bins: 5\n"), "f.yaml:3: link.bins: given twice");
    EXPECT_EQ(error_in("role: base\nlink: {bins: 5}\nlink: {loss: 0}\n"),
              "f.yaml:3: link: given twice");
}
TEST(Config, ASectionWithAValueIsRefused) {
    EXPECT_NE(error_in("link: 5\n").find("f.yaml:1: link: unknown key"), std::string::npos);
}
TEST(Config, TextThatIsNotYamlIsRefusedWithItsLine) {
    EXPECT_TRUE(error_in("link:\n  bins: [1\n").starts_with("f.yaml:3: not YAML: "));
    EXPECT_TRUE(error_in("a: b: c\n").starts_with("f.yaml:1: not YAML: "));
    EXPECT_EQ(error_in("just words\n"),
              "f.yaml: the file is a single value; valid: a mapping of keys to values");
    EXPECT_EQ(error_in("- role\n"),
              "f.yaml: the file is a list; valid: a mapping of keys to values");
}
TEST(Config, BinaryGarbageAndDeepNestingAreRefused) {
    std::string bytes;
    std::uint32_t x = 1;
    for (int i = 0; i < 4096; ++i) bytes += static_cast<char>((x = x * 1664525 + 1013904223) >> 24);
    EXPECT_NE(error_in(bytes), "no error");
    EXPECT_NE(error_in(std::string(100000, '[')), "no error");
    EXPECT_NE(error_in(std::string(2 << 20, ' ')), "no error");
}
TEST(Config, AnErrorIsOneLineOfReadableTextWhateverWasRead) {
    const auto e = error_in("role: \"a\\nb\\x07 gr\xc3\xb6\xc3\x9f\x65\"");
    EXPECT_TRUE(e.starts_with("f.yaml:1: role is a?b? gr\xc3\xb6\xc3\x9f\x65; valid: ")) << e;
    for (const std::string bad : {"\xff", "\xc3", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xc0\x80"})
        EXPECT_TRUE(error("v" + bad + "w").what() == "v" + std::string(bad.size(), '?') + "w")
            << error("v" + bad + "w").what();
    EXPECT_LT(std::string(error(std::string(100000, 'x')).what()).size(), 700U);
}
TEST(Config, ALongValueDoesNotPushOutWhatWouldBeValid) {
    const std::string much(900, 'x');  // YAML has no longer keys
    for (const std::string& e : {error_in("word: " + much + "y"), error_in("link.bins: " + much),
                                 error_in("link: {" + much + ": 1}"), error_in(much + ": 1")}) {
        EXPECT_NE(e.find("xxx..."), std::string::npos) << e;
        EXPECT_TRUE(e.find("; valid: ") != std::string::npos ||
                    e.find("unknown key") != std::string::npos)
            << e;
    }
}
TEST(Config, TextThatWouldNotReadBackIsRefused) {
    for (const std::string bad : {"a\xff", "a\nb", "a\x07", "a\x7f"}) {
        const auto e = error_of([&](settings& s) { s.merge_assignment("free=" + bad); });
        EXPECT_TRUE(e.ends_with("; valid: one line of UTF-8 text")) << e;
    }
}
TEST(Config, AMissingFileAndAFolderAreRefused) {
    EXPECT_EQ(error_of([](settings& s) { s.merge_file("/nowhere/f.yaml"); }),
              "/nowhere/f.yaml: No such file or directory");
    EXPECT_EQ(error_of([](settings& s) { s.merge_file("/dev/zero"); }),
              "/dev/zero: the file is too large for a configuration; valid: up to 1 MiB");
    EXPECT_NE(error_of([](settings& s) { s.merge_file("/tmp"); }).find("/tmp: "),
              std::string::npos);
}
TEST(Config, AMalformedAssignmentIsRefused) {
    for (const auto* a : {"link.bins", "=5", ""})
        EXPECT_NE(error_of([&](settings& s) { s.merge_assignment(a); }).find("valid: KEY=VALUE"),
                  std::string::npos);
    EXPECT_EQ(error_of([](settings& s) { s.merge_assignment("link.bins=99"); }),
              "--set: link.bins is 99; valid: an integer 1..25");
    EXPECT_EQ(error_of([](settings& s) { s.merge_assignment("lnk.bins=9"); }),
              "--set: lnk.bins: unknown key; did you mean link.bins?");
}
TEST(Config, ARequiredKeyThatIsMissingIsNamed) {
    EXPECT_EQ(error_of([](settings& s) { s.finish(); }),
              "configuration: role is missing; valid: one of: base, terminal");
}
TEST(Config, AFailedMergeLeavesTheSettingsAlone) {
    settings s(table());
    EXPECT_THROW(s.merge_yaml("link: {loss: 0.5, bins: 99}", "f"), error);
    EXPECT_EQ(s.real("link.loss"), 0);
}
TEST(Config, OnlyRuntimeKeysChangeInARunningProcess) {
    settings s(table());
    s.merge_yaml("link: {bins: 3}", "configure", true);
    EXPECT_EQ(s.integer("link.bins"), 3);
    try {
        s.merge_yaml("link: {loss: 0.5}", "configure", true);
        FAIL();
    } catch (const error& e) {
        EXPECT_STREQ(e.what(),
                     "configure:1: link.loss cannot change in a running process; valid: set it "
                     "before the start");
    }
}
TEST(Config, ADefaultThatDependsOnOthersDoesNotTouchASetKey) {
    settings s(table());
    s.set_default("link.bins", "4");
    EXPECT_EQ(s.integer("link.bins"), 4);
    s.merge_assignment("link.bins=6");
    s.set_default("link.bins", "5");
    EXPECT_EQ(s.integer("link.bins"), 6);
}
TEST(Config, ATableWithABadDefaultIsABug) {
    const std::vector<key> bad = {{.path = "a", .type = kind::integer, .fallback = "x", .doc = ""}};
    EXPECT_THROW(settings{bad}, std::logic_error);
}
TEST(Config, TheTableDocumentsItself) {
    const std::string text = to_markdown(table());
    EXPECT_NE(text.find("| `link.bins` | 10 | an integer 1..25 | bins (R) |"), std::string::npos);
    EXPECT_NE(text.find("| `role` | (required) | one of: base, terminal | which end |"),
              std::string::npos);
}
