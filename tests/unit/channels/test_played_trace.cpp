// SPDX-License-Identifier: GPL-3.0-or-later
// Traces as those who play them read them: once, and not for longer than they wait.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

#include "trace/confined_trace.h"
#include "trace/played_trace.h"
#include "trace/trace_file.h"

using namespace wip::trace;

namespace {

struct PlayedTrace : testing::Test {
    PlayedTrace() {
        writer out(file, trace_info());
        out.append(std::vector<trace_row>(2000, trace_row{7}), {});
        out.finish();
    }
    ~PlayedTrace() override { std::filesystem::remove(file); }

    const std::string file = testing::TempDir() + "played" + std::to_string(::getpid()) + ".h5";
};

}  // namespace

TEST_F(PlayedTrace, a_file_is_read_once_of_each_user) {
    played_traces traces;
    const auto first = traces(file, "");
    ASSERT_EQ(first->size(), 2000U);
    EXPECT_EQ((*first)[1999][0], 7);
    EXPECT_NE(traces(file, "root"), first);
    std::filesystem::remove(file);
    EXPECT_EQ(traces(file, ""), first);
    EXPECT_THROW(traces(file, "bin"), error);
    EXPECT_THROW(traces(file, "bin"), error);  // a failed result is not kept
}

TEST_F(PlayedTrace, a_reader_that_does_not_finish_is_ended_with_a_reason) {
    try {
        read_confined(file, "nobody", std::chrono::milliseconds{0});
        ADD_FAILURE() << "was read";
    } catch (const error& e) {
        EXPECT_EQ(e.what(), file + ": cannot be read: its reader has not finished in 0 s");
    }
    EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1);
    EXPECT_EQ(errno, ECHILD);
}
