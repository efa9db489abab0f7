// SPDX-License-Identifier: GPL-3.0-or-later
// The receiver's reports do not depend on how its samples are cut, nor, but for the last digits, on
// the compiler. The first is tried in 1,000 ways and the second with recordings that builds
// exchange by tests/bench/compilers.py.
#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <sstream>
#include <string>

#include "heard_slots.h"

namespace {

using namespace wip;
using namespace wip::heard;

constexpr std::int64_t slots = 40;
constexpr int every = 4;  // SNR of each so many slots is in the vectors
// dB by which an SNR may differ, beside the tolerance of the vectors
constexpr float bound_db = 0.001F;

const recording& samples() {
    static const recording made = record(slots);
    return made;
}

// The line of a slot in the vectors: world, lock, outcome of each bin; for some slots the SNR,
// measured and predicted.
std::string line_of(const heard_slot& w, std::size_t number) {
    std::string line = std::to_string(w.world) + (w.locked ? " 1 " : " 0 ");
    for (const auto o : w.outcome) line += static_cast<char>('0' + static_cast<int>(o));
    if (number % every != every - 1) return line;
    for (const auto* row : {&w.snr_db, &w.predicted_snr_db})
        for (const float v : *row) {
            char text[32];
            std::snprintf(text, sizeof text, " %.4f", static_cast<double>(v));
            line += text;
        }
    return line;
}

TEST(HeardSlots, samples_that_are_cut_in_other_ways_are_heard_as_the_same_bits) {
    const auto whole = hear_whole(samples(), worlds.size());
    std::array<int, worlds.size()> locked{};
    for (const heard_slot& w : whole) locked[w.world] += w.locked;
    for (const int n : locked) EXPECT_GT(n, 30);
    for (std::uint64_t seed = 1; seed <= 10; ++seed)
        EXPECT_EQ(first_difference(samples(), whole, seed), std::nullopt) << seed;
}

TEST(HeardSlots, a_sample_that_differs_by_80_db_below_itself_is_told_apart) {
    const auto whole = hear_whole(samples(), worlds.size());
    recording other = samples();
    other.samples[other.samples.size() - 3 * slot_samples + 500] *= 1.0001F;
    EXPECT_TRUE(first_difference(other, whole, 1));
}

// GCC 12 to 14, clang 19, for x86-64 and 64-bit ARM. After a change of the receiver's results, make
// the file again with OPENWIP_WRITE_VECTORS=1.
TEST(HeardSlots, outcomes_and_snr_are_those_of_the_vectors) {
    const auto whole = hear_whole(samples(), worlds.size());
    if (std::getenv("OPENWIP_WRITE_VECTORS") != nullptr) {
        std::ofstream out(HEARD_SLOTS);
        for (std::size_t n = 0; n < whole.size(); ++n) out << line_of(whole[n], n) << '\n';
    }
    std::ifstream in(HEARD_SLOTS);
    std::string line;
    std::size_t number = 0;
    float worst = 0;
    for (; std::getline(in, line); ++number) {
        ASSERT_LT(number, whole.size());
        std::istringstream kept_line(line), here(line_of(whole[number], number));
        std::string field, expected;
        for (int i = 0; i < 3; ++i) {
            kept_line >> expected;
            here >> field;
            ASSERT_EQ(field, expected) << "world, lock or outcomes of line " << number + 1;
        }
        for (const auto* row : {&whole[number].snr_db, &whole[number].predicted_snr_db})
            for (const float v : *row)
                if (float value = 0; kept_line >> value)
                    worst = std::max(worst, std::abs(v - value));
    }
    EXPECT_EQ(number, whole.size());
    EXPECT_LT(worst, bound_db);
    std::printf("SNR measured and predicted: %.5f dB beside the vectors at worst\n",
                static_cast<double>(worst));
}

}  // namespace
