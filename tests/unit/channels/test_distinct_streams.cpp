// SPDX-License-Identifier: GPL-3.0-or-later
// Two random streams of one run with the same numbers are refused, and nothing else changes. The
// seeds and purposes that collide were found by trying them all.
#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

#include "sample/counter_random.h"
#include "sample/distinct_streams.h"
#include "sample/tap_process.h"
#include "types/failure.h"

using namespace wip;
using namespace wip::sample_model;

namespace {

constexpr std::uint64_t seed = 1;
constexpr std::uint32_t one = 174, other = 1050;
// The seed of a delay line with 23 taps, as tdl-a has, two of whose streams are one.
constexpr std::uint64_t seed_of_taps = 500'111;

void make_taps(std::uint64_t s) {
    delay_profile profile;
    for (int tap = 0; tap < 23; ++tap) profile.taps.push_back({.delay_s = tap * 1e-7});
    const motion movement({}, 7'680'000);
    const tap_processes taps(profile, movement, {7'680'000, s, 0}, 64);
}

std::string refusal(std::uint64_t s) {
    try {
        make_taps(s);
    } catch (const bad_input& e) {
        return e.what();
    }
    return {};
}

}  // namespace

TEST(DistinctStreams, WithoutOneEveryStreamHasItsKey) {
    EXPECT_EQ(derive_key(seed, one), derive_key(seed, other));
    EXPECT_NE(derive_key(seed, one), derive_key(seed + 1, one));
}
TEST(DistinctStreams, TheSecondStreamWithAKeyIsRefusedAndTheFirstMayBeMadeAgain) {
    const distinct_streams run;
    const std::uint32_t key = derive_key(seed, one);
    EXPECT_EQ(derive_key(seed, one), key) << "paths alike fade alike";
    EXPECT_THROW(derive_key(seed, other), bad_input);
    EXPECT_EQ(derive_key(seed, one), key);
}
TEST(DistinctStreams, TheNextRunBeginsWithNone) {
    {
        const distinct_streams run;
        derive_key(seed, one);
    }
    const distinct_streams run;
    EXPECT_NO_THROW(derive_key(seed, other));
}
TEST(DistinctStreams, StreamsOfOtherThreadsCount) {
    const distinct_streams run;
    std::thread([] { derive_key(seed, one); }).join();
    EXPECT_THROW(derive_key(seed, other), bad_input);
}
TEST(DistinctStreams, AChannelWithTwoStreamsThatAreOneIsRefusedByItsSeed) {
    EXPECT_EQ(refusal(seed_of_taps), "");
    const distinct_streams run;
    EXPECT_EQ(refusal(seed_of_taps),
              "seed is 500111: two of this run's random streams would be the same; valid: another "
              "seed");
}
