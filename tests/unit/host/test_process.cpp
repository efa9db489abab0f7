// SPDX-License-Identifier: GPL-3.0-or-later
// Whose failure it is, and what becomes of a process: its exit code.
#include <gtest/gtest.h>
#include <spdlog/spdlog.h>

#include <cerrno>
#include <filesystem>
#include <functional>
#include <new>
#include <stdexcept>

#include "runtime/process.h"
#include "runtime/program.h"

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

// Of a program that is not up yet.
TEST(Process, EachKindOfFailureHasItsExitCode) {
    const auto ended = [](const std::function<void()>& fail, std::vector<const char*> words = {}) {
        const std::vector<config::key> keys;
        spdlog::drop("it");  // of the run before
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

TEST(Process, AReasonThatTellsOfADeathIsOne) {
    EXPECT_EQ(exit_code_of("asked to stop"), exit_asked);
    EXPECT_EQ(exit_code_of("air died (signal 9)"), exit_peer_lost);
}

}  // namespace
}  // namespace wip::host
