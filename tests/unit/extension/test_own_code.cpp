// SPDX-License-Identifier: GPL-3.0-or-later
// Code of a user's own, loaded from a shared library and from a Python file: every way to be wrong
// is an error that names the setting, the place, the value and what is valid.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>

#include "extension/link_rules.h"
#include "extension/own_predictors.h"
#include "extension/own_rules.h"
#include "extension/trusted_file.h"

namespace wip::extension {
namespace {

namespace fs = std::filesystem;

const std::string folder = OPENWIP_EXAMPLES;
const std::string good = "library:" + folder + "/example_rules.so";

openwip_cell cell_of_two() {
    openwip_cell c{};
    c.users = 2;
    c.bins = 10;
    c.averaging_slots = 100;
    for (int k = 1; k <= 8; ++k) c.frame_bits[k] = 108 * k - 24;
    return c;
}

// The text of the error that `work` throws; empty: none.
std::string refusal(const std::function<void()>& work) {
    try {
        work();
    } catch (const bad_input& e) {
        return e.what();
    }
    return "";
}

// A slot of two users, who want everything.
class slot_of_two {
public:
    slot_of_two() {
        for (auto& u : users) {
            u.hears = 1;
            u.pieces = 1;
            u.piece_bits[0] = 100000;
            for (int b = 0; b < OPENWIP_BINS; ++b) {
                u.bits_per_symbol[b] = 3;
                u.expected_bits[b] = 100 + b;
                u.predicted_snr_db[b] = 16;
            }
        }
        slot.slot = 77;
        slot.users = 2;
        slot.bins = 10;
        slot.user = users;
        slot.cell = &cell;
    }
    openwip_cell cell = cell_of_two();
    openwip_user users[2]{};
    openwip_slot slot{};
};

std::string of_sharing(const std::string& value) {
    return refusal([&] {
        own_scheduler s("link.scheduler", value, cell_of_two());
        slot_of_two two;
        s.share(two.slot);
    });
}

std::string of_choosing(const std::string& value) {
    return refusal([&] {
        own_adaptation a("link.adaptation", value, cell_of_two());
        openwip_report r{};
        r.slot = 12, r.user = 1;
        for (auto& k : r.bits_per_symbol) k = 4;
        a.choose(r);
    });
}

TEST(OwnLibrary, ItsDecisionIsCarriedOutAndItsTimeMeasured) {
    own_scheduler s("link.scheduler", good + ":good", cell_of_two());
    slot_of_two two;
    s.share(two.slot);
    EXPECT_EQ(two.slot.nof_given, 1);
    EXPECT_EQ(two.slot.given[0].bin, 24);
    const rule_cost cost = s.cost();
    EXPECT_EQ(cost.key, "link.scheduler");
    EXPECT_EQ(cost.value, good + ":good");
    EXPECT_EQ(cost.of_call.slots, 1U);
    EXPECT_GT(cost.of_call.max_us, 0);
}

TEST(OwnLibrary, AnInvalidDecisionIsNamedWithWhatIsValid) {
    const auto reported = [](const char* argument) { return of_sharing(good + ":" + argument); };
    const std::string begin = "link.scheduler is " + good + ":";
    EXPECT_EQ(reported("bin"), begin + "bin: slot 77: bin 25 was given; valid: 0..24");
    EXPECT_EQ(reported("user"),
              begin + "user: slot 77: bin 3 was given to terminal 2; valid: 0..1");
    EXPECT_EQ(reported("too_many"),
              begin + "too_many: slot 77: 11 bins were given; valid: 0..10 (link.bins)");
    EXPECT_EQ(reported("far_too_many"),
              begin + "far_too_many: slot 77: 1000 bins were given; valid: 0..10 (link.bins)");
    EXPECT_EQ(reported("negative"),
              begin + "negative: slot 77: -1 bins were given; valid: 0..10 (link.bins)");
    EXPECT_EQ(reported("twice"),
              begin + "twice: slot 77: bin 4 was given twice; valid: each bin once");
    EXPECT_EQ(reported("silent"), begin + "silent: slot 77: it failed and gave no reason");
    EXPECT_EQ(reported("long").find(begin + "long: slot 77: xxx"), 0U);
    EXPECT_EQ(reported("refuses"), begin + "refuses: argument refuses; valid: good");
    EXPECT_EQ(reported("good"), "");

    const std::string rule = "link.adaptation is " + good + ":";
    EXPECT_EQ(of_choosing(good + ":nine"),
              rule + "nine: slot 12, terminal 1: bin 12 has 9 bits per symbol; valid: 1..8");
    EXPECT_EQ(of_choosing(good + ":zero"),
              rule + "zero: slot 12, terminal 1: bin 0 has 0 bits per symbol; valid: 1..8");
    EXPECT_EQ(of_choosing(good + ":good"), "");
}

TEST(OwnLibrary, APredictorIsGivenItsHorizonAndItsGainsAreFinite) {
    own_predictor p("phy.predictor", good, 6);
    openwip_gains g{};
    g.measured = 1;
    p.update(g);
    EXPECT_EQ(g.known, 1);
    EXPECT_EQ(g.ahead_re[0], 6.0F);
    p.reset();
    p.update(g);
    EXPECT_EQ(g.ahead_re[0], 0.0F);
    const auto of_nan =
        refusal([&] { own_predictor("phy.predictor", good + ":nan", 6).update(g); });
    EXPECT_NE(of_nan.find("the gain of bin 3 is not finite; valid: a finite complex number"),
              std::string::npos)
        << of_nan;
}

TEST(OwnLibrary, WhatIsNoSuchLibraryIsRefused) {
    EXPECT_EQ(of_sharing("library:/nowhere/x.so"),
              "link.scheduler is library:/nowhere/x.so: /nowhere/x.so: No such file or directory; "
              "valid: a file that can be read");
    EXPECT_NE(of_sharing("library:" + folder).find("is no regular file; valid: a file"),
              std::string::npos);
    EXPECT_NE(of_sharing("library:" + std::string(OPENWIP_SOURCE) + "/README.md")
                  .find("it cannot be loaded: "),
              std::string::npos);
    const auto version = of_sharing("library:" + folder + "/wrong_version.so");
    EXPECT_NE(version.find("was made for version 2 of openwip/extension.h"), std::string::npos);
    EXPECT_NE(version.find("valid here: version 1 with "), std::string::npos) << version;
    EXPECT_NE(of_sharing("library:" + folder + "/without_entry.so")
                  .find("has no function openwip_extension(); valid: a library made with "
                        "openwip/extension.h"),
              std::string::npos);
    const std::string alone = "library:" + folder + "/scheduler_alone.so";
    EXPECT_EQ(of_sharing(alone), "");
    EXPECT_EQ(of_choosing(alone),
              "link.adaptation is " + alone +
                  ": the table that openwip_extension() returns has not all functions of an "
                  "adaptation rule; "
                  "valid: a library with adaptation_make, adaptation_choose_modulation and "
                  "adaptation_free (docs/how-to/extend.md)");
    EXPECT_EQ(refusal([&] { own_predictor p("phy.predictor", alone, 3); }),
              "phy.predictor is " + alone +
                  ": the table that openwip_extension() returns has not all functions of a "
                  "predictor; valid: a library with predictor_make, predictor_update, "
                  "predictor_reset and predictor_free (docs/how-to/extend.md)");
    EXPECT_EQ(of_sharing("somewhere"),
              "link.scheduler is somewhere; valid: python:FILE:CLASS or library:FILE[:ARGUMENT]");
}

TEST(OwnCode, NamesAreReadAsTheyAreWritten) {
    const auto python = read_extension_name("python:a:b.py:Best");
    ASSERT_TRUE(python);
    EXPECT_TRUE(python->python);
    EXPECT_EQ(python->file, "a:b.py");
    EXPECT_EQ(python->argument, "Best");
    const auto library = read_extension_name("library:x.so:k=3:4");
    ASSERT_TRUE(library);
    EXPECT_EQ(library->file, "x.so");
    EXPECT_EQ(library->argument, "k=3:4");
    for (const char* wrong : {"", "python:", "python:a.py", "python:a.py:", "python::A",
                              "library:", "library::x", "built_in", "a.py:A"})
        EXPECT_FALSE(read_extension_name(wrong)) << wrong;
}

// --- Python ---

class OwnPython : public testing::Test {
protected:
    void SetUp() override {
        std::string name = (fs::temp_directory_path() / "own_code_XXXXXX").string();
        ASSERT_NE(::mkdtemp(name.data()), nullptr);
        home = name;
    }
    void TearDown() override { fs::remove_all(home); }
    // The setting's value for a class `A` in a file with this text.
    std::string file(const std::string& text, const std::string& name = "rule.py") const {
        std::ofstream(home / name) << text;
        return "python:" + (home / name).string() + ":A";
    }
    std::string scheduler(const std::string& body) const {
        return file(
            "class A:\n    def __init__(self, cell):\n        self.cell = cell\n"
            "    def share_bins(self, slot):\n" +
            body);
    }
    fs::path home;
};

TEST_F(OwnPython, ItSeesTheSlotAndItsDecisionIsCarriedOut) {
    const auto value = scheduler(R"(
        assert (slot.slot, slot.bins, slot.bins_left, len(slot.users)) == (77, 10, 10, 2)
        assert (self.cell.users, self.cell.bins, self.cell.averaging_slots) == (2, 10, 100)
        assert self.cell.frame_bits == (0, *(108 * k - 24 for k in range(1, 9)))
        near, far = slot.users
        assert (near.number, far.number, near.hears, near.wants) == (0, 1, True, True)
        assert near.waiting_bits == (100000,)
        assert near.bits_per_symbol == (3,) * 25
        assert near.predicted_snr_db == (16.0,) * 25
        assert near.expected_bits is near.expected_bits
        assert list(near.expected_bits) == [100 + b for b in range(25)]
        assert near.acknowledged_bits == 0
        slot.give(far, 24)
        slot.give(0, 3)
        assert slot.given == ((1, 24), (0, 3))
        assert not slot.is_free(3) and slot.is_free(4)
        assert slot.bins_left == 8 and len(slot.free_bins) == 23
        assert far.waiting_bits == (100000 - 300,)
)");
    own_scheduler s("link.scheduler", value, cell_of_two());
    for (int turn = 0; turn < 2; ++turn) {
        slot_of_two two;
        s.share(two.slot);
        ASSERT_EQ(two.slot.nof_given, 2);
        EXPECT_EQ(two.slot.given[0].user, 1);
        EXPECT_EQ(two.slot.given[1].bin, 3);
    }
    EXPECT_EQ(s.cost().of_call.slots, 2U);
}

TEST_F(OwnPython, WhatIsWrongInItIsNamedWithFileLineAndValue) {
    const std::string at = (home / "rule.py").string();
    const auto reported = [&](const std::string& body) { return of_sharing(scheduler(body)); };
    const auto begin = [&](int line) {
        return "link.scheduler is python:" + at + ":A: slot 77: " + at + ":" +
               std::to_string(line) + ": in share_bins: ";
    };
    EXPECT_EQ(reported("        slot.give(0, 25)\n"),
              begin(5) + "ValueError: bin is 25; valid: 0..24");
    EXPECT_EQ(reported("        slot.give(0, -1)\n"),
              begin(5) + "ValueError: bin is -1; valid: 0..24");
    EXPECT_EQ(reported("        slot.give(2, 3)\n"),
              begin(5) + "ValueError: terminal is 2; valid: 0..1");
    EXPECT_EQ(reported("        slot.give(0, 3)\n        slot.give(1, 3)\n"),
              begin(6) + "ValueError: bin 3 is given already; valid: each bin once");
    EXPECT_EQ(reported("        for b in range(11):\n            slot.give(0, b)\n"),
              begin(6) +
                  "ValueError: bin 10 is one too many; valid: at most 10 bins in a slot "
                  "(link.bins)");
    EXPECT_EQ(reported("        return 1 / 0\n"), begin(5) + "ZeroDivisionError: division by zero");
    // Deeper in what it calls, the place is still in its own file.
    EXPECT_EQ(reported("        import json\n        json.loads('{')\n").substr(0, begin(6).size()),
              begin(6));
}

TEST_F(OwnPython, WhatCannotBeLoadedIsNamed) {
    const std::string at = (home / "rule.py").string();
    const std::string begin = "link.scheduler is python:" + at + ":A: ";
    EXPECT_EQ(of_sharing(file("class B:\n    pass\nclass C:\n    pass\n")),
              begin + at + " has no class A; valid: B, C");
    EXPECT_EQ(
        of_sharing(file("import math\n")),
        begin + at + " has no class A; valid: a file that defines the class (it defines none)");
    EXPECT_EQ(of_sharing(file("class A:\n    def __init__(self, cell):\n        pass\n")),
              begin + at +
                  ": class A has no method share_bins(); valid: one that docs/how-to/extend.md "
                  "describes");
    EXPECT_EQ(of_sharing(file("x = 1\nclass A\n")).substr(0, (begin + at + ":2: ").size()),
              begin + at + ":2: ");
    EXPECT_EQ(of_sharing(file("import nothing_of_this_name\n")),
              begin + at +
                  ":1: in <module>: ModuleNotFoundError: No module named "
                  "'nothing_of_this_name'");
    EXPECT_EQ(of_sharing(file("class A:\n    def __init__(self, cell, more):\n        pass\n"))
                  .find(begin + at + ": TypeError: "),
              0U);
}

TEST_F(OwnPython, ItImportsWhatLiesBesideItAndLeavesNothingThere) {
    std::ofstream(home / "beside_rule.py") << "BIN = 9\n";
    const auto value = file(
        "import beside_rule\nclass A:\n    def __init__(self, cell):\n        pass\n"
        "    def share_bins(self, slot):\n        slot.give(0, beside_rule.BIN)\n");
    own_scheduler s("link.scheduler", value, cell_of_two());
    slot_of_two two;
    s.share(two.slot);
    EXPECT_EQ(two.slot.given[0].bin, 9);
    for (const auto& entry : fs::directory_iterator(home))
        EXPECT_EQ(entry.path().extension(), ".py") << entry.path();
}

TEST_F(OwnPython, ASlotIsGoneWhenItsCallIsOverButItsNumbersMayBeKept) {
    std::ofstream(home / "kept_by_rule.py") << "slot = numbers = None\n";
    own_scheduler s("link.scheduler", scheduler(R"(
        import kept_by_rule
        if kept_by_rule.slot:
            assert kept_by_rule.numbers == (16.0,) * 25
        kept_by_rule.slot, kept_by_rule.numbers = slot, slot.users[0].predicted_snr_db
)"),
                    cell_of_two());
    slot_of_two one, two;
    s.share(one.slot);
    s.share(two.slot);
    const auto outside = file(
        "import kept_by_rule\nclass A:\n    def __init__(self, cell):\n        pass\n"
        "    def choose_modulation(self, report):\n        kept_by_rule.slot.bins\n",
        "outside.py");
    EXPECT_NE(of_choosing(outside).find("outside.py:6: in choose_modulation: RuntimeError: a slot "
                                        "and its users can be asked only while share_bins() runs"),
              std::string::npos)
        << of_choosing(outside);
}

TEST_F(OwnPython, AnAdaptationRuleAnswersWithTheModulationOfEveryBin) {
    const auto rule = [&](const std::string& body) {
        return file(
            "class A:\n    def __init__(self, cell):\n        pass\n"
            "    def choose_modulation(self, report):\n" +
            body);
    };
    own_adaptation a("link.adaptation", rule(R"(
        assert (report.slot, report.user, report.heard) == (12, 1, False)
        assert report.sent_bits_per_symbol[4] == 5 and report.received[4] == 1
        assert report.retransmissions[4] == 2 and report.prediction_nmse == 0.5
        assert report.table_bits_per_symbol == (4,) * 25
        return [k + 1 for k in report.table_bits_per_symbol]
)"),
                     cell_of_two());
    openwip_report r{};
    r.slot = 12, r.user = 1, r.prediction_nmse = 0.5F;
    r.sent_bits_per_symbol[4] = 5, r.received[4] = 1, r.retransmissions[4] = 2;
    for (int b = 0; b < OPENWIP_BINS; ++b) r.bits_per_symbol[b] = r.table_bits_per_symbol[b] = 4;
    a.choose(r);
    for (const auto k : r.bits_per_symbol) EXPECT_EQ(k, 5);

    const auto ends = [](const std::string& text, const std::string& end) {
        EXPECT_TRUE(text.ends_with(end)) << text;
    };
    EXPECT_EQ(of_choosing(rule("        return None\n")), "");
    ends(of_choosing(rule("        return [9] * 25\n")),
         "bin 0 has 9 bits per symbol; valid: 1..8");
    ends(of_choosing(rule("        return [-7] * 25\n")),
         "bin 0 has 255 bits per symbol; valid: 1..8");
    ends(of_choosing(rule("        return [4] * 24\n")),
         "the answer is 24 elements; valid: 25 whole numbers 1..8, one for each bin, or None");
    ends(of_choosing(rule("        return 4\n")),
         "the answer is of type int; valid: 25 whole numbers 1..8, one for each bin, or None");
    ends(of_choosing(rule("        return [4] * 24 + [2.5]\n")),
         "the answer is the modulation 2.5 in bin 24; valid: 25 whole numbers 1..8, one for each "
         "bin, or None");
}

TEST_F(OwnPython, APredictorIsGivenGainsAndAnswersWithGains) {
    own_predictor p("phy.predictor", file(R"(
class A:
    def __init__(self, horizon):
        self.horizon, self.last = horizon, None
    def reset(self):
        self.last = None
    def update(self, gains, gain_error):
        if gains is None:
            return None
        assert gain_error == 0.25
        last, self.last = self.last, gains
        return last and [g + self.horizon * (g - l) for g, l in zip(gains, last)]
)"),
                    4);
    openwip_gains g{};
    const auto update = [&](float re, float im) {
        g.measured = 1;
        g.gain_error = 0.25F;
        g.known = 0;
        for (int b = 0; b < OPENWIP_BINS; ++b) g.re[b] = re, g.im[b] = im;
        p.update(g);
    };
    update(1, 1);
    EXPECT_EQ(g.known, 0);
    update(2, 0.5F);
    EXPECT_EQ(g.known, 1);
    EXPECT_EQ(g.ahead_re[24], 6.0F);
    EXPECT_EQ(g.ahead_im[24], -1.5F);
    p.reset();
    update(2, 0.5F);
    EXPECT_EQ(g.known, 0);
    g.measured = 0;
    p.update(g);
    EXPECT_EQ(g.known, 0);
}

// Predicts 1 for every gain. Stands for a predictor that the product has built in.
class ones final : public phy::gain_predictor {
public:
    void reset() noexcept override {}
    bool update(const phy::gain_sample&, phy::bin_gains& ahead) noexcept override {
        ahead.re.fill(1);
        return true;
    }
    void skip() noexcept override {}
};

TEST_F(OwnPython, AReceiverMakesBuiltInPredictorsAndItsOwnInOnePlace) {
    own_predictors makers([](std::string_view name, int) -> std::unique_ptr<phy::gain_predictor> {
        if (name != "ones") throw std::invalid_argument("predictor: is not one of ones");
        return std::make_unique<ones>();
    });
    phy::gain_sample now;
    phy::bin_gains ahead;
    EXPECT_TRUE(makers.make("ones", 3)->update(now, ahead));
    EXPECT_EQ(ahead.re[7], 1);
    EXPECT_THROW(makers.make("twos", 3), std::invalid_argument);
    EXPECT_FALSE(makers.cost());
    EXPECT_THROW(makers.make("library:/nowhere.so", 3), bad_input);

    const auto own = makers.make(good, 3);
    EXPECT_TRUE(own->update(now, ahead));
    EXPECT_EQ(ahead.re[0], 3);
    own->skip();
    own->reset();
    EXPECT_EQ(makers.cost()->of_call.slots, 2U);
    EXPECT_FALSE(makers.has_failed());
    EXPECT_EQ(makers.failure(), "");
}

TEST_F(OwnPython, APredictorThatFailsSaysSoOnceAndIsAskedNoMore) {
    own_predictors makers([](std::string_view, int) { return std::make_unique<ones>(); });
    const auto own = makers.make(file(R"(
class A:
    def __init__(self, horizon):
        self.calls = 0
    def update(self, gains, gain_error):
        self.calls += 1
        raise ValueError(f"call {self.calls}")
)"),
                                 3);
    phy::gain_sample now;
    phy::bin_gains ahead;
    for (int i = 0; i < 3; ++i) EXPECT_FALSE(own->update(now, ahead));
    own->skip();
    own->reset();
    EXPECT_TRUE(makers.has_failed());
    EXPECT_TRUE(makers.failure().ends_with("rule.py:7: in update: ValueError: call 1"))
        << makers.failure();
    EXPECT_EQ(makers.cost()->of_call.slots, 1U);

    own_predictors others([](std::string_view, int) { return std::make_unique<ones>(); });
    EXPECT_EQ(others.try_to_make("library:/nowhere.so", 3), nullptr);
    EXPECT_TRUE(others.has_failed());
    EXPECT_NE(others.failure().find("/nowhere.so: No such file"), std::string::npos);
}

TEST_F(OwnPython, LinkRulesAreTheOnesThatTheSettingsName) {
    const link_rules none({}, cell_of_two());
    EXPECT_EQ(none.scheduler(), nullptr);
    EXPECT_EQ(none.adaptation(), nullptr);
    EXPECT_TRUE(none.costs().empty());
    const link_rules both({scheduler("        pass\n"), good}, cell_of_two());
    EXPECT_NE(both.scheduler(), nullptr);
    EXPECT_NE(both.adaptation(), nullptr);
    EXPECT_EQ(both.costs().size(), 2U);
    EXPECT_THROW(check_files({.adaptation = "library:/nowhere.so"}), bad_input);
}

// --- whose code root loads ---

TEST_F(OwnPython, RootLoadsNoCodeThatSomebodyElseMayChange) {
    if (::geteuid() != 0) GTEST_SKIP() << "needs root";
    ::unsetenv("SUDO_UID");
    const auto path = (home / "rule.py").string();
    file("class A:\n    pass\n");
    EXPECT_EQ(why_not_loaded(path), "");
    fs::permissions(path, fs::perms::group_write, fs::perm_options::add);
    EXPECT_NE(why_not_loaded(path).find("rule.py may be changed by other users; valid in a process "
                                        "of root's: a file and folders that only their owner may "
                                        "write (chmod go-w)"),
              std::string::npos);
    fs::permissions(path, fs::perms::group_write, fs::perm_options::remove);
    fs::permissions(home, fs::perms::others_write, fs::perm_options::add);
    EXPECT_NE(why_not_loaded(path).find(home.string() + " may be changed by other users"),
              std::string::npos);
    fs::permissions(home, fs::perms::others_write, fs::perm_options::remove);
    ASSERT_EQ(::chown(path.c_str(), 12345, 12345), 0);
    EXPECT_NE(why_not_loaded(path).find("rule.py is owned by user 12345; valid in a process of "
                                        "root's: a file of root's, or of the user who calls sudo"),
              std::string::npos);
    ::setenv("SUDO_UID", "12345", 1);
    EXPECT_EQ(why_not_loaded(path), "");
    // The file to which a link leads is evaluated, not the link.
    const auto link = home / "link.py";
    fs::create_symlink(path, link);
    ::unsetenv("SUDO_UID");
    EXPECT_NE(why_not_loaded(link.string()).find("rule.py is owned by user 12345"),
              std::string::npos);
}

}  // namespace
}  // namespace wip::extension
