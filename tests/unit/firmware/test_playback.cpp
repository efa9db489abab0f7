// SPDX-License-Identifier: GPL-3.0-or-later
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <thread>
#include <vector>

#include "core/playback.h"

using namespace wip::attenuator;

namespace {

struct world {
    playback player;
    std::uint32_t now = 0;
    std::array<int, nof_chips> chips{};
    std::vector<std::uint32_t> steps;
    int pulses = 0;
    bool host_there = true;

    void tick(int times = 1, std::uint32_t passed = 1) {
        for (int k = 0; k < times; ++k) {
            if (host_there) player.heard();
            const auto out = player.tick(passed);
            for (unsigned c = 0; c < nof_chips; ++c)
                if ((out.chips >> c & 1) != 0) chips[c] = out.word[c];
            if (out.is_step) steps.push_back(out.step);
            if (out.trigger_pulse) ++pulses;
            now += passed;
        }
    }
    play_plan plan(std::uint8_t channels = 1) {
        play_plan p;
        p.channels = channels;
        p.trigger = trigger_source::bus;
        return p;
    }
    // Steps of one column, of value `level` + their number.
    playback::accepted give(std::uint32_t first, int n, bool last = false, int level = 0) {
        std::vector<std::uint8_t> bytes;
        for (int k = 0; k < n; ++k)
            bytes.push_back(static_cast<std::uint8_t>((level + static_cast<int>(first) + k) % 128));
        return player.accept(first, bytes, last);
    }
};

using accepted = playback::accepted;

}  // namespace

TEST(Playback, TheFirstTickSetsEveryChipToItsMaximum) {
    world w;
    w.tick();
    for (const int c : w.chips) EXPECT_EQ(c, 127);
}

TEST(Playback, EachStepIsPlayedInItsTickAndTheLastOneIsHeld) {
    world w;
    ASSERT_TRUE(w.player.begin(w.plan()));
    ASSERT_EQ(w.give(0, 50, true), accepted::all);
    w.tick(10);
    EXPECT_EQ(w.player.state(), play_state::armed);
    EXPECT_TRUE(w.player.trigger(trigger_source::bus));
    for (std::uint32_t k = 0; k < 50; ++k) {
        w.tick();
        ASSERT_EQ(w.steps.size(), k + 1);
        EXPECT_EQ(w.chips[0], static_cast<int>(k));
        EXPECT_EQ(w.chips[1], 127) << "a channel that is not played";
    }
    w.tick(3);
    EXPECT_EQ(w.player.state(), play_state::ended);
    EXPECT_EQ(w.chips[0], 49);
    EXPECT_EQ(w.player.underflows(), 0u);
    EXPECT_EQ(w.pulses, 1);
}

TEST(Playback, AStepLastsItsPeriod) {
    world w;
    auto p = w.plan();
    p.period_ticks = 7;
    ASSERT_TRUE(w.player.begin(p));
    ASSERT_EQ(w.give(0, 4, true), accepted::all);
    w.player.trigger(trigger_source::bus);
    for (int t = 0; t < 28; ++t) {
        w.tick();
        EXPECT_EQ(w.chips[0], t / 7) << t;
    }
    w.tick();
    EXPECT_EQ(w.player.state(), play_state::ended);
}

TEST(Playback, AStepLastsItsPeriodAfterTheTicksHaveGoneRound) {
    world w;
    play_plan p = w.plan();
    p.period_ticks = 60000;
    p.silence_ticks = 65535;
    ASSERT_TRUE(w.player.begin(p));
    ASSERT_TRUE(w.player.trigger(trigger_source::bus));
    w.tick();
    std::uint64_t elapsed = 0;
    std::uint32_t given = 0;
    while (elapsed < (std::uint64_t{1} << 32) + 5 * 60000) {  // 49.7 days of 1 ms
        ASSERT_EQ(w.give(given++, 1), accepted::all);
        w.tick(2, 30000);
        elapsed += 60000;
    }
    EXPECT_EQ(w.player.ring().played(), elapsed / 60000 + 1);
    EXPECT_EQ(w.player.state(), play_state::playing);
}

TEST(Playback, WithoutATriggerItWaitsForHalfARingOrAWholeTable) {
    world w;
    auto p = w.plan();
    p.trigger = trigger_source::immediate;
    ASSERT_TRUE(w.player.begin(p));
    ASSERT_EQ(w.give(0, 100), accepted::all);
    w.tick(20);
    EXPECT_EQ(w.player.state(), play_state::armed);
    ASSERT_EQ(w.give(100, 1, true), accepted::all);
    w.tick();
    EXPECT_EQ(w.player.state(), play_state::playing);
    world full;
    ASSERT_TRUE(full.player.begin(p));
    for (std::uint32_t k = 0; k < ring_bytes / 2; k += 128)
        ASSERT_EQ(full.give(k, 128), accepted::all);
    full.tick();
    EXPECT_EQ(full.player.state(), play_state::playing);
}

TEST(Playback, OnlyTheTriggerThatWasAskedForStartsIt) {
    world w;
    auto p = w.plan();
    p.trigger = trigger_source::external;
    EXPECT_FALSE(w.player.trigger(trigger_source::external)) << "nothing waits";
    ASSERT_TRUE(w.player.begin(p));
    w.give(0, 5, true);
    EXPECT_FALSE(w.player.trigger(trigger_source::bus));
    w.tick();
    EXPECT_EQ(w.player.state(), play_state::armed);
    EXPECT_TRUE(w.player.trigger(trigger_source::external));
    w.tick();
    EXPECT_EQ(w.player.state(), play_state::playing);
    EXPECT_FALSE(w.player.trigger(trigger_source::external)) << "it runs";
}

TEST(Playback, AnUnderflowHoldsAndTheGridGoesOn) {
    world w;
    ASSERT_TRUE(w.player.begin(w.plan()));
    w.give(0, 10);
    w.player.trigger(trigger_source::bus);
    w.tick(15);
    EXPECT_EQ(w.chips[0], 9);
    EXPECT_EQ(w.player.underflows(), 5u);
    EXPECT_TRUE(w.player.starved());
    // 10 to 14 are past: what comes of them is left out, 15 is on time.
    ASSERT_EQ(w.give(10, 10, true), accepted::all);
    w.tick();
    EXPECT_EQ(w.chips[0], 15);
    EXPECT_EQ(w.player.ring().late(), 5u);
    EXPECT_FALSE(w.player.starved());
    w.tick(5);
    EXPECT_EQ(w.player.state(), play_state::ended);
    EXPECT_EQ(w.player.underflows(), 5u);
}

TEST(Playback, AnUnderflowTakesItsChannelsToTheirMaximumWhereThatIsAsked) {
    world w;
    w.player.set_levels({});
    auto p = w.plan(0b101);
    p.on_underflow = fallback::maximum;
    ASSERT_TRUE(w.player.begin(p));
    const std::vector<std::uint8_t> step{3, 4};
    w.player.accept(0, step, false);
    w.player.trigger(trigger_source::bus);
    w.tick();
    EXPECT_EQ(w.chips[0], 3);
    EXPECT_EQ(w.chips[2], 4);
    w.tick();
    EXPECT_EQ(w.chips[0], 127);
    EXPECT_EQ(w.chips[1], 0);
    EXPECT_EQ(w.chips[2], 127);
    EXPECT_EQ(w.player.state(), play_state::playing);
}

TEST(Playback, ASilentHostEndsItBeforeItsTimeIsOver) {
    for (const bool armed : {false, true})
        for (const fallback f : {fallback::hold, fallback::maximum}) {
            world w;
            w.player.set_levels({});
            auto p = w.plan();
            p.on_silence = f;
            ASSERT_TRUE(w.player.begin(p));
            w.give(0, 1000);
            if (!armed) w.player.trigger(trigger_source::bus);
            w.tick(200);
            w.host_there = false;
            w.tick(98);
            EXPECT_TRUE(w.player.active());
            // The host was heard up to 1 ms before the last tick in which it was there; 99 ticks
            // later, that is 99 to 100 ms ago. The limit is 100 ticks.
            w.tick(1);
            EXPECT_EQ(w.player.state(), play_state::silent);
            EXPECT_FALSE(w.player.active());
            const int held = armed ? 0 : 297 % 128;
            EXPECT_EQ(w.chips[0], f == fallback::maximum ? 127 : held);
            EXPECT_EQ(w.chips[5], f == fallback::maximum ? 127 : 0)
                << "all channels, not only those that are played";
        }
}

TEST(Playback, NobodyIsWatchedWhileNothingIsPlayed) {
    world w;
    w.player.set_levels({});
    w.host_there = false;
    w.tick(5000);
    EXPECT_EQ(w.chips[0], 0);
    EXPECT_EQ(w.player.state(), play_state::idle);
}

TEST(Playback, TheHostMaySendWhatIsFreeAndNoMore) {
    world w;
    ASSERT_TRUE(w.player.begin(w.plan()));
    std::uint32_t next = 0;
    while (w.player.ring().free() > 0) {
        const auto n = std::min(w.player.ring().free(), 100u);
        ASSERT_EQ(w.give(next, static_cast<int>(n)), accepted::all);
        next += n;
    }
    EXPECT_EQ(next, ring_bytes);
    EXPECT_EQ(w.give(next, 1), accepted::no_room);
    EXPECT_EQ(w.player.ring().received(), next);
    w.player.trigger(trigger_source::bus);
    w.tick(3);
    EXPECT_EQ(w.player.ring().free(), 3u);
    EXPECT_EQ(w.give(next, 4), accepted::no_room);
    EXPECT_EQ(w.give(next, 3), accepted::all);
}

TEST(Playback, ARingThatGoesRoundManyTimesPlaysEachStepOnce) {
    world w;
    ASSERT_TRUE(w.player.begin(w.plan(0xff)));
    w.player.trigger(trigger_source::bus);
    std::uint32_t sent = 0;
    const std::uint32_t whole = 5 * ring_bytes / 8 + 13;
    const auto send = [&] {
        while (sent < whole && w.player.ring().free() >= 30) {
            std::vector<std::uint8_t> bytes;
            const auto n = std::min<std::uint32_t>(30, whole - sent);
            for (std::uint32_t k = 0; k < n; ++k)
                for (unsigned c = 0; c < 8; ++c)
                    bytes.push_back(static_cast<std::uint8_t>((sent + k + c) % 128));
            ASSERT_EQ(w.player.accept(sent, bytes, sent + n == whole), accepted::all);
            sent += n;
        }
    };
    send();
    for (std::uint32_t k = 0; k < whole; ++k) {
        w.tick();
        for (unsigned c = 0; c < 8; ++c) ASSERT_EQ(w.chips[c], static_cast<int>((k + c) % 128));
        send();
    }
    w.tick();
    EXPECT_EQ(w.player.state(), play_state::ended);
    EXPECT_EQ(w.steps.size(), whole);
    EXPECT_EQ(w.player.underflows(), 0u);
}

TEST(Playback, StepsMayBeRepeatedButNotLeftOut) {
    world w;
    ASSERT_TRUE(w.player.begin(w.plan()));
    EXPECT_EQ(w.give(0, 10), accepted::all);
    EXPECT_EQ(w.give(0, 10), accepted::all);
    EXPECT_EQ(w.give(5, 10), accepted::all) << "half of them are new";
    EXPECT_EQ(w.player.ring().received(), 15u);
    EXPECT_EQ(w.give(16, 1), accepted::gap);
    EXPECT_EQ(w.give(0xffffffff, 1), accepted::gap);
    EXPECT_EQ(w.give(15, 1, true), accepted::all);
    EXPECT_EQ(w.give(15, 1, true), accepted::all) << "the end may be told again";
    EXPECT_EQ(w.give(16, 1), accepted::gap) << "behind the end";
    EXPECT_EQ(w.give(3, 2, true), accepted::gap) << "another end";
    w.player.trigger(trigger_source::bus);
    w.tick(17);
    EXPECT_EQ(w.steps.size(), 16u);
    EXPECT_EQ(w.player.state(), play_state::ended);
}

TEST(Playback, WhatCannotBeIsRefusedWhole) {
    world w;
    EXPECT_EQ(w.give(0, 1), accepted::not_open);
    ASSERT_TRUE(w.player.begin(w.plan(0b11)));
    EXPECT_EQ(w.player.accept(0, std::vector<std::uint8_t>{1, 2, 3}, false), accepted::not_whole);
    EXPECT_EQ(w.player.accept(0, std::vector<std::uint8_t>{1, 2, 3, 128}, false),
              accepted::out_of_range);
    EXPECT_EQ(w.player.ring().received(), 0u);
    EXPECT_FALSE(w.player.begin(w.plan()));
    EXPECT_FALSE(w.player.set_level({0}, {}));
    EXPECT_FALSE(w.player.set_levels({}));
    EXPECT_FALSE(w.player.set_switch(2));
    EXPECT_FALSE(w.player.set_layout(chip_layout(1)));
    w.player.stop();
    w.tick();
    EXPECT_EQ(w.player.state(), play_state::stopped);
    EXPECT_TRUE(w.player.set_level({0}, {}));
}

TEST(Playback, ChipsInSeriesAreOneColumnWithTwiceTheRange) {
    world w;
    w.player.set_layout(chip_layout(1));
    ASSERT_TRUE(w.player.begin(w.plan()));
    EXPECT_EQ(w.player.accept(0, std::vector<std::uint8_t>{254, 130}, false), accepted::all);
    EXPECT_EQ(w.player.accept(2, std::vector<std::uint8_t>{255}, true), accepted::out_of_range);
    w.player.trigger(trigger_source::bus);
    w.tick();
    EXPECT_EQ(w.chips[0], 127);
    EXPECT_EQ(w.chips[1], 127);
    w.tick();
    EXPECT_EQ(w.chips[0], 127);
    EXPECT_EQ(w.chips[1], 3);
}

TEST(Playback, TicksThatWereMissedLeaveStepsOutAndKeepTheGrid) {
    world w;
    ASSERT_TRUE(w.player.begin(w.plan()));
    w.give(0, 100, true);
    w.player.trigger(trigger_source::bus);
    w.tick(10);
    w.tick(1, 5);
    EXPECT_EQ(w.steps.back(), 14u);
    w.tick();
    EXPECT_EQ(w.steps.back(), 15u);
    w.host_there = false;
    w.tick(1, 200);
    EXPECT_EQ(w.player.state(), play_state::silent)
        << "200 ticks without a word are silence, however they are counted";
    world last;
    ASSERT_TRUE(last.player.begin(last.plan()));
    last.give(0, 20, true);
    last.player.trigger(trigger_source::bus);
    last.tick(5);
    last.tick(1, 30);
    EXPECT_EQ(last.player.state(), play_state::ended);
    EXPECT_EQ(last.chips[0], 19) << "what is held is the last step";
}

TEST(Playback, StoppingOneDoesNotStopTheNextOne) {
    world w;
    ASSERT_TRUE(w.player.begin(w.plan()));
    w.player.stop();
    w.tick();
    w.player.stop();
    ASSERT_TRUE(w.player.begin(w.plan()));
    w.tick(3);
    EXPECT_EQ(w.player.state(), play_state::armed);
}

// The interrupt's side beside the loop's, as on the board; the sanitizer of threads looks on.
TEST(Playback, TickAndLoopNeedNoLock) {
    playback player;
    play_plan p;
    p.channels = 0b11;
    ASSERT_TRUE(player.begin(p));
    constexpr std::uint32_t whole = 40'000;
    std::atomic<bool> done{false};
    std::uint32_t played = 0;
    bool wrong = false;
    std::thread interrupt([&] {
        while (!done.load()) {
            player.heard();
            const auto out = player.tick();
            if (!out.is_step) continue;
            wrong = wrong || out.word[0] != out.step % 128 || out.word[1] != (out.step + 1) % 128;
            ++played;
        }
    });
    std::uint32_t next = 0;
    while (player.active()) {
        if (next < whole && player.ring().free() > 0) {
            const std::vector<std::uint8_t> step{static_cast<std::uint8_t>(next % 128),
                                                 static_cast<std::uint8_t>((next + 1) % 128)};
            if (player.accept(next, step, next + 1 == whole) == accepted::all) ++next;
        }
    }
    done = true;
    interrupt.join();
    EXPECT_FALSE(wrong);
    EXPECT_EQ(player.state(), play_state::ended);
    EXPECT_GT(played, 0u);
    EXPECT_GE(played + player.underflows(), whole);
}
