// SPDX-License-Identifier: GPL-3.0-or-later
// The kinds of failure, and the end of a process: its exit code.
#include <gtest/gtest.h>
#include <spdlog/spdlog.h>

#include <cerrno>
#include <filesystem>
#include <functional>
#include <new>
#include <stdexcept>

#include "runtime/process.h"
#include "runtime/program.h"
#include "runtime/stop_reason.h"

namespace wip::host {
namespace {

TEST(Process, AnExceptionOnceItIsUpIsAFaultAndNoBadInput) {
    EXPECT_EQ(run_to_its_end([]() -> int { throw std::out_of_range("stod"); }), exit_failed);
    EXPECT_NE(exit_failed, exit_bad_input);
    EXPECT_EQ(run_to_its_end([] { return exit_peer_lost; }), exit_peer_lost);
    EXPECT_EQ(run_to_its_end([]() -> int { throw bad_input("x"); }), exit_failed);
    EXPECT_EQ(run_to_its_end([]() -> int { throw peer_error("the kernel is silent"); }),
              exit_peer_lost);
}

// The exit code of a program that is not up yet.
TEST(Process, EachKindOfFailureHasItsExitCode) {
    const auto ended = [](const std::function<void()>& fail, std::vector<const char*> words = {}) {
        const std::vector<config::key> keys;
        spdlog::drop("it");  // the logger of an earlier run
        words.insert(words.begin(), "it");
        const program p{"it", "test", &keys, [](config::settings&) {},
                        [&](config::settings&) {
                            fail();
                            return exit_asked;
                        }};
        return run_program(p, static_cast<int>(words.size()), const_cast<char**>(words.data()));
    };
    EXPECT_EQ(ended([] {}), exit_asked);
    EXPECT_EQ(ended([] { throw bad_input("key = 1: valid: 2"); }), exit_bad_input);
    EXPECT_EQ(ended([] { throw std::invalid_argument("bins"); }), exit_bad_input);
    EXPECT_EQ(ended([] {}, {"--config", "/no/such"}), exit_bad_input);
    EXPECT_EQ(ended([] {}, {"--no-such"}), exit_bad_input);
    EXPECT_EQ(ended([] { throw peer_error("it is gone"); }), exit_peer_lost);
    EXPECT_EQ(ended([] { throw machine_error("socket", EMFILE); }), exit_failed);
    EXPECT_EQ(ended([] { throw std::bad_alloc(); }), exit_failed);
    EXPECT_EQ(ended([] { throw std::logic_error("plan(3) after plan(4)"); }), exit_failed);
    EXPECT_EQ(ended([] { static_cast<void>(std::filesystem::file_size("/no/such")); }),
              exit_failed);
}

TEST(Process, AFailureIsOneLineThatSaysWhat) {
    EXPECT_STREQ(bad_input("a\nb\x1b").what(), "a?b?");
    EXPECT_STREQ(machine_error("socket", EMFILE).what(), "socket: Too many open files");
}

TEST(Process, TheCauseOfAnEndDecidesTheExitCodeAndItsWordsDoNot) {
    using namespace openwip::stop;
    const auto code = [](const std::string& why) { return exit_code_of(read_reason(why).cause); };
    EXPECT_EQ(code(R"({"cause": "ASKED", "words": "the last flow died and is gone"})"), exit_asked);
    EXPECT_EQ(code(R"({"cause": "DIED", "words": "a signal"})"), exit_peer_lost);
    for (const auto cause : {DIED, SILENT, GONE, FAILED})
        EXPECT_EQ(exit_code_of(cause), exit_peer_lost) << cause;
    EXPECT_EQ(exit_code_of(UNFIT), exit_bad_input);
    EXPECT_EQ(exit_code_of(CAUSE_UNSPECIFIED), exit_asked);
}

TEST(Process, AFileOfReasonsIsReadInBothForms) {
    const auto read = read_reason(R"({"cause": "GONE", "words": "wip0 is gone", "later": 1})");
    EXPECT_EQ(read.cause, openwip::stop::GONE);
    EXPECT_EQ(read.words, "wip0 is gone");
    const auto before = read_reason("stopped by ./openwip down\nmore\n");
    EXPECT_EQ(before.cause, openwip::stop::CAUSE_UNSPECIFIED);
    EXPECT_EQ(before.words, "stopped by ./openwip down");
    for (const std::string no_reason : {"", "{}", "\n"}) {
        EXPECT_EQ(read_reason(no_reason).words, "asked to stop");
        EXPECT_EQ(read_reason(no_reason).cause, openwip::stop::ASKED);
    }
    EXPECT_EQ(read_reason(std::string(3000, 'x')).words.size(), 500U);
}

TEST(Process, ARequestToStopWithoutACauseIsAsked) {
    openwip::control::Request request;
    request.set_stop("air died");
    EXPECT_EQ(reason_of(request).cause, openwip::stop::ASKED);
    EXPECT_EQ(reason_of(request).words, "air died");
    request.set_cause(openwip::stop::SILENT);
    EXPECT_EQ(reason_of(request).cause, openwip::stop::SILENT);
}

}  // namespace
}  // namespace wip::host
