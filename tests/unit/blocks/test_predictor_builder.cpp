// SPDX-License-Identifier: GPL-3.0-or-later
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <set>
#include <string>

#include "predictor_builder.h"

namespace {

std::set<int> threads() {
    std::set<int> out;
    for (const auto& task : std::filesystem::directory_iterator("/proc/self/task"))
        out.insert(std::stoi(task.path().filename()));
    return out;
}

std::unique_ptr<wip::phy::snr_predictor> wait_for(wip::predictor_builder& builder) {
    std::unique_ptr<wip::phy::snr_predictor> made;
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (!(made = builder.take()) && std::chrono::steady_clock::now() < until)
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return made;
}

TEST(predictor_builder, makes_what_was_ordered_once) {
    wip::predictor_builder builder;
    EXPECT_EQ(builder.take(), nullptr);
    builder.order({"last", 7});
    const auto made = wait_for(builder);
    ASSERT_NE(made, nullptr);
    EXPECT_EQ(made->choice(), (wip::phy::predictor_choice{"last", 7}));
    EXPECT_EQ(builder.take(), nullptr);
}

// The predictor is ordered as work() orders it, in a thread of the slot path: with real-time
// priority where that is allowed.
TEST(predictor_builder, builds_in_a_thread_without_the_priority_of_who_orders) {
    wip::predictor_builder builder;
    std::set<int> before;
    std::thread([&] {
        const sched_param some{.sched_priority = 1};
        ::sched_setscheduler(0, SCHED_FIFO, &some);
        before = threads();
        builder.order({"last", 3});
    }).join();
    ASSERT_NE(wait_for(builder), nullptr);
    auto begun = threads();
    for (const int thread : before) begun.erase(thread);
    ASSERT_EQ(begun.size(), 1U);
    EXPECT_NE(::sched_getscheduler(*begun.begin()), SCHED_FIFO);
    EXPECT_GE(::getpriority(PRIO_PROCESS, static_cast<id_t>(*begun.begin())), 10);
}

}  // namespace
