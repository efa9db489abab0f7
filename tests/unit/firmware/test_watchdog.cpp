// SPDX-License-Identifier: GPL-3.0-or-later
// The chip's independent watchdog, by the rules of its registers (RM0390, 20.4): what they forbid
// is noted and not done. And when the firmware feeds it: QEMU has none, so that it bites is shown
// by nobody but the board.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "board/independent_watchdog.h"
#include "core/liveness.h"

namespace {

enum : int { kr = 5, pr, rlr, sr, csr };

struct watchdog_model {
    bool runs = false, unlocked = false;
    std::uint32_t prescaler = 0, reload = 0xfff, reset_flags = 0;
    int busy_reads = 0, fed = 0;
    std::vector<std::string> broken;

    void write(int number, std::uint32_t value) {
        switch (number) {
            case kr:
                unlocked = value == 0x5555;
                runs = runs || value == 0xcccc;
                if (value == 0xaaaa) {
                    if (busy_reads > 0) broken.emplace_back("fed before the reload value is there");
                    ++fed;
                }
                return;
            case pr:
            case rlr:
                if (!unlocked) broken.emplace_back("written while locked");
                (number == pr ? prescaler : reload) = value;
                busy_reads = 5;  // cycles of a slow oscillator
                return;
            case csr:
                if ((value & 1u << 24) != 0) reset_flags = 0;
                return;
            default:
                broken.emplace_back("a register that cannot be written");
        }
    }
    std::uint32_t read(int number) {
        if (number == sr) return busy_reads > 0 && busy_reads-- > 0 ? 3u : 0u;
        return number == csr ? reset_flags : 0;
    }
};

watchdog_model chip;

struct Watchdog : testing::Test {
    Watchdog() { chip = {}; }
    ~Watchdog() override { EXPECT_EQ(chip.broken, std::vector<std::string>{}); }
};

}  // namespace

namespace wip::board {

model_register::operator std::uint32_t() const { return chip.read(number); }
const model_register& model_register::operator=(std::uint32_t value) const {
    chip.write(number, value);
    return *this;
}

}  // namespace wip::board

using namespace wip::board;

TEST_F(Watchdog, StartsWithTwoSecondsAtTheNominalClock) {
    start_watchdog();
    EXPECT_TRUE(chip.runs);
    EXPECT_EQ(chip.prescaler, 3U);  // 4 << 3
    EXPECT_EQ((4U << chip.prescaler) * chip.reload * 1000 / 32'000, 2000U);
    EXPECT_EQ(chip.fed, 1);
}
TEST_F(Watchdog, IsFedByOneWrite) {
    start_watchdog();
    feed_watchdog();
    EXPECT_EQ(chip.fed, 2);
    EXPECT_FALSE(chip.unlocked);
}
TEST_F(Watchdog, AResetByItOrByAFaultIsToldFromOneByPowerAndAskedOnce) {
    constexpr std::uint32_t low_power = 1u << 31, watchdog = 1u << 29, software = 1u << 28,
                            power = 1u << 27, pin = 1u << 26, brown_out = 1u << 25;
    for (const std::uint32_t flags : {power | pin | brown_out, pin, low_power}) {
        chip.reset_flags = flags;
        EXPECT_FALSE(take_fault_reset()) << flags;
    }
    for (const std::uint32_t flags : {watchdog | pin, software | pin}) {
        chip.reset_flags = flags;
        EXPECT_TRUE(take_fault_reset()) << flags;
        EXPECT_FALSE(take_fault_reset());
    }
}

using wip::attenuator::liveness;

TEST(Liveness, FeedsWhileMainLoopAndTickBothGoOn) {
    liveness alive;
    int fed = 0;
    for (std::uint32_t tick = 1; tick <= 1000; ++tick)
        for (int turn = 0; turn < 7; ++turn) fed += alive.turn(tick);
    EXPECT_EQ(fed, 1000 / static_cast<int>(liveness::least_ticks));
}
TEST(Liveness, DoesNotFeedWhereTheTickStandsStillHoweverOftenTheLoopTurns) {
    liveness alive;
    EXPECT_TRUE(alive.turn(100));
    for (int turn = 0; turn < 1'000'000; ++turn) ASSERT_FALSE(alive.turn(100));
}
TEST(Liveness, FeedsAcrossTheEndOfTheCount) {
    liveness alive;
    EXPECT_TRUE(alive.turn(0xffffffe0));
    EXPECT_FALSE(alive.turn(0xffffffff));
    EXPECT_TRUE(alive.turn(0x20));
}
