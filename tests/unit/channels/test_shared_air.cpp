// SPDX-License-Identifier: GPL-3.0-or-later
// Whose a medium's name is: of one process at a time, however many begin together.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <unistd.h>

#include <array>
#include <barrier>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>

#include "air/shared_air.h"
#include "types/failure.h"

using namespace wip::air;

namespace {

struct SharedAir : testing::Test {
    static std::unique_ptr<shared_air> make() {
        return shared_air::create(name(), {"a"}, clock_kind::lockstep, 1);
    }
    static std::string refusal() {
        try {
            make();
        } catch (const wip::machine_error& e) {
            return e.what();
        }
        return "";
    }
    static std::string name() { return "unit-test-" + std::to_string(getpid()); }
    static bool exists() { return std::filesystem::exists(shared_air::path(name())); }
    ~SharedAir() override { unlink(shared_air::path(name()).c_str()); }
};

}  // namespace

TEST_F(SharedAir, a_name_is_taken_until_its_medium_is_gone) {
    auto first = make();
    EXPECT_FALSE(first->cleaned());
    EXPECT_NE(refusal().find("is running already (process " + std::to_string(getpid()) + ")"),
              std::string::npos);
    EXPECT_TRUE(exists());
    first.reset();
    EXPECT_FALSE(exists());
    EXPECT_FALSE(make()->cleaned());
}

TEST_F(SharedAir, a_medium_of_which_nothing_can_be_read_yet_has_its_name) {
    const int fd = open(shared_air::path(name()).c_str(), O_RDWR | O_CREAT | O_EXCL, 0600);
    ASSERT_EQ(flock(fd, LOCK_EX), 0);
    EXPECT_NE(refusal().find("is running already"), std::string::npos);
    EXPECT_TRUE(exists());
    close(fd);
    EXPECT_NE(make(), nullptr);
}

TEST_F(SharedAir, what_a_dead_one_left_is_removed) {
    const int fd = open(shared_air::path(name()).c_str(), O_RDWR | O_CREAT | O_EXCL, 0600);
    ASSERT_EQ(ftruncate(fd, 1 << 20), 0);
    close(fd);
    EXPECT_TRUE(make()->cleaned());
    EXPECT_FALSE(exists());
}

TEST_F(SharedAir, of_those_that_begin_together_one_has_the_name) {
    std::array<std::unique_ptr<shared_air>, 4> made;
    for (int round = 0; round < 20; ++round) {
        std::barrier together(made.size());
        std::array<std::thread, made.size()> threads;
        for (std::size_t i = 0; i < made.size(); ++i)
            threads[i] = std::thread([&, i] {
                together.arrive_and_wait();
                try {
                    made[i] = make();
                } catch (const wip::machine_error&) {
                }
            });
        for (auto& t : threads) t.join();
        int nof_made = 0;
        for (const auto& m : made) nof_made += m != nullptr;
        EXPECT_EQ(nof_made, 1);
        EXPECT_TRUE(exists());
        EXPECT_NE(shared_air::attach(name()), nullptr);
        for (auto& m : made) m.reset();
        EXPECT_FALSE(exists());
    }
}
