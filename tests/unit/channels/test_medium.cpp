// SPDX-License-Identifier: GPL-3.0-or-later
// Whom a running medium takes for dead, and that it goes on whatever a node writes into the memory.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <future>
#include <limits>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "air/medium.h"

using namespace wip::air;
using namespace std::chrono_literals;

namespace {

// The end of a medium when this process has written itself into the node, and nothing else yet.
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

// A medium with one node, which receives and reads, until it writes what no radio would.
struct MediumWithAnAttacker : testing::Test {
    explicit MediumWithAnAttacker(clock_kind clock = clock_kind::lockstep)
        : config(with(clock)),
          memory(shared_air::create_private({"a"}, config.clock, config.speed)),
          node(memory->node(0)),
          air(*memory, config, [this](const std::string& line) {
              const std::lock_guard lock(mutex);
              lines.push_back(line);
          }) {
        ended = std::async(std::launch::async, [this] { return air.run(); });
        claim();
        give({as_soon_as_possible, 0, 0, command_kind::receive_start});
        goes_on();
    }
    // A medium that does not come back cannot be waited for.
    ~MediumWithAnAttacker() override {
        air.stop();
        if (ended.wait_for(8s) == std::future_status::ready) return;
        std::printf("the medium does not end\n");
        std::fflush(stdout);
        std::_Exit(1);
    }
    static medium_config with(clock_kind clock) {
        medium_config c;
        c.priority = 0;
        c.clock = clock;
        c.speed = clock == clock_kind::lockstep ? 0 : 1;
        c.wait_receivers = 1;
        node_config one{"a", {}};
        one.noise_dbfs = -40;
        c.nodes.push_back(one);
        return c;
    }
    void wake() { memory->header().work.wake(); }
    void claim() {
        node.process = getpid();
        node.claims.fetch_add(1);
        while (node.served.load() != node.claims.load()) wake(), std::this_thread::sleep_for(100us);
    }
    void give(const command& c) {
        const std::uint64_t at = node.commands.written.load();
        node.commands.at(at) = c;
        node.commands.written.store(at + 1);
        wake();
    }
    // The clock advances for a node that reads.
    bool goes_on() {
        const tick before = memory->header().now.load();
        for (int i = 0; i < 50'000; ++i) {
            node.read.store(node.now.load());
            wake();
            if (memory->header().now.load() >= before + 10 * config.quantum) return true;
            std::this_thread::sleep_for(100us);
        }
        ADD_FAILURE() << "the clock stands";
        return false;
    }
    bool refused() {
        for (int i = 0; i < 50'000 && !is_refused(); ++i) {
            wake();
            std::this_thread::sleep_for(100us);
        }
        return is_refused();
    }
    bool is_refused() {
        const std::lock_guard lock(mutex);
        for (const std::string& line : lines)
            if (line.find("node 'a' is refused until it is claimed again") == 0) return true;
        return false;
    }
    node_status status() { return air.status().nodes.at(0); }

    medium_config config;
    std::unique_ptr<shared_air> memory;
    node_block& node;
    std::mutex mutex;
    std::vector<std::string> lines;
    medium air;
    std::future<std::string> ended;
};

struct RealtimeMediumWithAnAttacker : MediumWithAnAttacker {
    RealtimeMediumWithAnAttacker() : MediumWithAnAttacker(clock_kind::realtime) {}
};

constexpr std::uint64_t absurd = std::uint64_t{1} << 60;  // entries: more than any ring holds
constexpr tick latest = std::numeric_limits<tick>::max();
constexpr tick earliest = std::numeric_limits<tick>::min();

}  // namespace

TEST_F(MediumWithAnAttacker, more_commands_than_there_can_be_are_none) {
    node.commands.written.fetch_add(absurd);
    EXPECT_TRUE(refused());
}

TEST_F(MediumWithAnAttacker, commands_that_are_taken_back_are_none) {
    node.commands.written.store(0);
    EXPECT_TRUE(refused());
}

TEST_F(MediumWithAnAttacker, more_bursts_than_there_can_be_are_none) {
    node.bursts.written.fetch_add(absurd);
    EXPECT_TRUE(refused());
}

TEST_F(MediumWithAnAttacker, a_burst_that_ends_outside_of_the_fifo_is_none) {
    node.bursts.at(0).time = node.now.load() + 100'000'000;
    node.bursts.at(0).first = 0;
    node.bursts.at(0).state.store(absurd << burst_flag_bits);
    node.bursts.written.store(1);
    EXPECT_TRUE(refused());
}

TEST_F(MediumWithAnAttacker, a_burst_that_begins_outside_of_the_fifo_is_none) {
    node.bursts.at(0).first = absurd;
    node.bursts.at(0).state.store(absurd << burst_flag_bits);
    node.bursts.written.store(1);
    EXPECT_TRUE(refused());
}

TEST_F(MediumWithAnAttacker, a_burst_that_shrinks_is_none) {
    node.bursts.at(0).time = node.now.load() + 100'000'000;
    node.bursts.at(0).first = 1000;
    node.bursts.at(0).state.store(2000 << burst_flag_bits);
    node.bursts.written.store(1);
    goes_on();
    node.bursts.at(0).state.store(999 << burst_flag_bits);
    EXPECT_TRUE(refused());
}

TEST_F(MediumWithAnAttacker, who_is_refused_may_claim_the_node_again) {
    node.commands.written.fetch_add(absurd);
    EXPECT_TRUE(refused());
    claim();
    EXPECT_EQ(node.commands.written.load(), 0U);
    give({as_soon_as_possible, 0, 0, command_kind::receive_start});
    goes_on();
    EXPECT_TRUE(status().receives);
}

TEST_F(MediumWithAnAttacker, values_that_no_radio_has_are_refused_and_counted) {
    const double nan = std::nan(""), infinite = std::numeric_limits<double>::infinity();
    const std::vector<command> bad{
        {as_soon_as_possible, nan, 0, command_kind::receive_gain},
        {as_soon_as_possible, infinite, 0, command_kind::transmit_frequency},
        {as_soon_as_possible, -infinite, 0, command_kind::receive_frequency},
        {latest, 1, 0, command_kind::transmit_gain},
        {earliest + 1, 1, 0, command_kind::transmit_gain},
        {latest, 0, 0, command_kind::receive_stop},
        {as_soon_as_possible, 0, -1, command_kind::receive_start},
        {as_soon_as_possible, 0, latest, command_kind::receive_start},
        {as_soon_as_possible, 0, 0, static_cast<command_kind>(6)},
        {as_soon_as_possible, 0, 0, static_cast<command_kind>(0xffffffff)}};
    for (const command& c : bad) give(c);
    goes_on();
    EXPECT_EQ(status().refused, bad.size());
    EXPECT_FALSE(is_refused());
}

TEST_F(MediumWithAnAttacker, a_burst_at_a_time_that_no_radio_has_is_late_and_counted) {
    for (const tick time : {latest, earliest + 1}) {
        const std::uint64_t at = node.bursts.written.load();
        node.bursts.at(at).time = time;
        node.bursts.at(at).first = 0;
        node.bursts.at(at).state.store(burst_closed);
        node.bursts.written.store(at + 1);
    }
    goes_on();
    EXPECT_EQ(status().refused, 2U);
    EXPECT_EQ(air.status().late, 2U);
}

TEST_F(MediumWithAnAttacker, changes_ahead_of_time_do_not_grow_for_ever) {
    for (int i = 0; i < 10'000; ++i) {
        while (node.commands.written.load() - node.commands.taken.load() >= node.commands.size)
            goes_on();
        give({farthest_time - i, 0, 0, command_kind::transmit_gain});
    }
    goes_on();
    EXPECT_EQ(status().refused, 5905U);
}

TEST_F(MediumWithAnAttacker, any_count_of_samples_read_is_one_that_can_be) {
    for (const tick read : {latest, earliest, tick{1} << 62, -(tick{1} << 62), tick{-1}}) {
        node.read.store(read);
        wake();
        std::this_thread::sleep_for(5ms);
        goes_on();
    }
    EXPECT_FALSE(is_refused());
}

TEST_F(RealtimeMediumWithAnAttacker, goes_on_whatever_latency_and_counts_there_are) {
    for (const tick value : {latest, earliest, tick{-1}}) {
        node.transmit_latency.store(value);
        node.read.store(value);
        node.receive_wanted.store(value);
        node.windows.taken.store(static_cast<std::uint64_t>(value));
        node.fifo_written.store(static_cast<std::uint64_t>(value));
        node.events.written.store(static_cast<std::uint64_t>(value));
        std::this_thread::sleep_for(5ms);
        goes_on();
    }
    EXPECT_FALSE(is_refused());
}

// The end of a medium in which a radio put three packets on the air at a wrong time.
struct displaced_end {
    std::string reason;
    std::vector<std::string> lines;
    std::uint64_t counted;
};
displaced_end end_with_displaced(bool stations_may_die) {
    medium_config config;
    config.priority = 0;
    config.stations_may_die = stations_may_die;
    config.nodes.push_back({"a", {}});
    const auto memory = shared_air::create_private({"a"}, config.clock, config.speed);
    displaced_end found{};
    medium* running = nullptr;
    medium m(*memory, config, [&](const std::string& line) {
        found.lines.push_back(line);
        if (line == "clock started" || line.find("beside their time") != std::string::npos)
            running->stop();
    });
    running = &m;
    memory->node(0).displaced_by = -5120;
    memory->node(0).displaced = 3;
    found.reason = m.run();
    found.counted = m.status().packets_at_wrong_time;
    return found;
}

TEST(Medium, ends_when_samples_were_on_the_air_at_a_wrong_time) {
    const displaced_end found = end_with_displaced(false);
    EXPECT_EQ(found.reason,
              "node 'a': samples were on the air -5120 ticks beside their time (late is positive)");
    EXPECT_EQ(found.counted, 3U);
}

TEST(Medium, counts_what_was_at_a_wrong_time_where_its_stations_may_die) {
    const displaced_end found = end_with_displaced(true);
    EXPECT_EQ(found.reason, "");
    EXPECT_EQ(found.counted, 3U);
    EXPECT_EQ(std::ranges::count_if(
                  found.lines,
                  [](const std::string& l) { return l.find("-5120 ticks beside") != l.npos; }),
              1);
}

TEST(Medium, a_station_that_is_about_to_say_that_it_is_there_lives) {
    EXPECT_EQ(end_with(getpid()), "");
}

TEST(Medium, a_station_that_died_before_it_could_say_so_is_dead) {
    const pid_t child = fork();
    if (child == 0) _exit(0);
    waitpid(child, nullptr, 0);
    EXPECT_EQ(end_with(child), "node 'a' (process " + std::to_string(child) + ") died");
}
