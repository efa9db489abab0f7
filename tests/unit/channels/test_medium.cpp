// SPDX-License-Identifier: GPL-3.0-or-later
// Whom a running medium takes for dead.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>

#include "air/medium.h"

using namespace wip::air;

namespace {

// What it ends with when this process has written itself into the node, and nothing else yet.
std::string end_with(std::int64_t process) {
    medium_config config;
    config.priority = 0;
    config.nodes.push_back({"a", {}});
    const auto memory = shared_air::create_private({"a"}, config.clock, config.speed);
    medium* running = nullptr;
    medium m(*memory, config, [&running](const std::string& line) {
        if (line == "clock started") running->stop();
    });
    running = &m;
    memory->node(0).process = process;
    return m.run();
}

}  // namespace

TEST(Medium, a_station_that_is_about_to_say_that_it_is_there_lives) {
    EXPECT_EQ(end_with(getpid()), "");
}

TEST(Medium, a_station_that_died_before_it_could_say_so_is_dead) {
    const pid_t child = fork();
    if (child == 0) _exit(0);
    waitpid(child, nullptr, 0);
    EXPECT_EQ(end_with(child), "node 'a' (process " + std::to_string(child) + ") died");
}
