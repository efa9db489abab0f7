// SPDX-License-Identifier: GPL-3.0-or-later
// What becomes of a process that is up: its exit code.
#include <gtest/gtest.h>

#include <stdexcept>

#include "runtime/process.h"

namespace wip::host {
namespace {

TEST(Process, AnExceptionOnceItIsUpIsAFaultAndNoBadInput) {
    EXPECT_EQ(run_to_its_end([]() -> int { throw std::out_of_range("stod"); }), exit_failed);
    EXPECT_NE(exit_failed, exit_bad_input);
    EXPECT_EQ(run_to_its_end([] { return exit_peer_lost; }), exit_peer_lost);
}

TEST(Process, AReasonThatTellsOfADeathIsOne) {
    EXPECT_EQ(exit_code_of("asked to stop"), exit_asked);
    EXPECT_EQ(exit_code_of("air died (signal 9)"), exit_peer_lost);
}

}  // namespace
}  // namespace wip::host
