// SPDX-License-Identifier: GPL-3.0-or-later
// Block errors: as many as asked for, and as they come together.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <stdexcept>

#include "umts/block_errors.h"

namespace wip::umts {
namespace {

TEST(Errors, AsManyAsAskedForAndInBurstsOfTheLengthAskedFor) {
    for (const auto model : {error_model::uniform, error_model::markov2, error_model::birth_death,
                             error_model::burst}) {
        block_errors e({model, 0.1, 6}, 1);
        int lost = 0, bursts = 0;
        bool before = false;
        constexpr int blocks = 1'000'000;
        for (int i = 0; i < blocks; ++i) {
            const bool now = e.lost();
            lost += now ? 1 : 0;
            bursts += now && !before ? 1 : 0;
            before = now;
        }
        EXPECT_NEAR(lost / double{blocks}, 0.1, 0.005) << static_cast<int>(model);
        const double length = lost / double(bursts);
        if (model == error_model::uniform) {
            EXPECT_NEAR(length, 1 / 0.9, 0.02);
        } else if (model == error_model::birth_death) {
            EXPECT_GT(length, 2);
        } else {
            EXPECT_NEAR(length, 6, 0.3) << static_cast<int>(model);
        }
    }
}

// The conditional probabilities of Smaragdakis: a second block after a first one with p12, more
// with p22; and P(E) as asked for.
TEST(Errors, OfChain3HaveItsConditionalProbabilities) {
    block_errors e({.model = error_model::chain3, .rate = 0.1, .p12 = 0.3, .p22 = 0.8}, 1);
    constexpr int blocks = 1'000'000;
    double lost = 0, first = 0, second = 0, of_more = 0, more = 0;
    int in_a_row = 0;
    for (int i = 0; i < blocks; ++i) {
        const bool now = e.lost();
        if (in_a_row == 1) {
            ++first;
            second += now ? 1 : 0;
        } else if (in_a_row > 1) {
            ++of_more;
            more += now ? 1 : 0;
        }
        lost += now ? 1 : 0;
        in_a_row = now ? in_a_row + 1 : 0;
    }
    EXPECT_NEAR(lost / blocks, 0.1, 0.003);
    EXPECT_NEAR(second / first, 0.3, 3 * std::sqrt(0.3 * 0.7 / first));
    EXPECT_NEAR(more / of_more, 0.8, 3 * std::sqrt(0.8 * 0.2 / of_more));
}

TEST(Errors, OfChain3AreIsolatedWithoutASecondOne) {
    block_errors e({.model = error_model::chain3, .rate = 0.2, .p12 = 0, .p22 = 0}, 1);
    bool before = false;
    for (int i = 0; i < 10'000; ++i) {
        const bool now = e.lost();
        EXPECT_FALSE(before && now);
        before = now;
    }
}

TEST(Errors, OfChain3AreRefusedWhereTheCorrectStateWouldBeTooShort) {
    const block_error_config c{.model = error_model::chain3, .rate = 0.6, .p12 = 0, .p22 = 0};
    EXPECT_THROW(c.check(), std::invalid_argument);
    const block_error_config longer{.model = error_model::chain3, .rate = 0.6, .p12 = 1, .p22 = .9};
    EXPECT_NO_THROW(longer.check());
}

// From one burst to the next are more blocks than 32 bits count.
TEST(Errors, OfATinyRateComeOnceInAYear) {
    block_errors e({error_model::burst, 6 / 4294967298.0, 6}, 1);
    for (int i = 0; i < 1000; ++i) EXPECT_FALSE(e.lost());
}

TEST(Errors, OfBurstsAreTheShareThatIsAskedForWhereItsInverseIsNoWholeNumber) {
    for (const double burst : {1.0, 3.0, 5.0})
        for (const double rate : {0.01, 0.15, 0.3, 0.4, 0.45, 0.5}) {
            block_errors e({error_model::burst, rate, burst}, 1);
            int lost = 0, in_a_row = 0;
            constexpr int blocks = 100'000;
            for (int i = 0; i < blocks; ++i) {
                const bool now = e.lost();
                if (!now && in_a_row > 0) {
                    EXPECT_EQ(in_a_row, burst) << rate;
                }
                in_a_row = now ? in_a_row + 1 : 0;
                lost += now ? 1 : 0;
            }
            EXPECT_NEAR(lost / double{blocks}, rate, 2 * burst / blocks) << burst;
        }
}

// Blocks 54 to 59 of each 60, counted from 1.
TEST(Errors, BurstsOfAWholePeriodAreAtItsEnd) {
    block_errors e({error_model::burst, 0.1, 6}, 1);
    for (int i = 1; i <= 600; ++i) EXPECT_EQ(e.lost(), i % 60 >= 54) << i;
}

}  // namespace
}  // namespace wip::umts
