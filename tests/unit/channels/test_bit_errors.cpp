// SPDX-License-Identifier: GPL-3.0-or-later
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <random>
#include <stdexcept>

#include "packet/bit_errors.h"

namespace wip::packet_model {
namespace {

using packet = std::vector<std::uint8_t>;

int ones(const packet& p) {
    int n = 0;
    for (const auto byte : p) n += std::popcount(byte);
    return n;
}

// Share of packets of `bytes` that are hit, over one length of the pattern.
double damaged_share(const bit_error_config& c, std::size_t bytes) {
    bit_error_pattern pattern(c);
    const auto packets = pattern.length_bits() / static_cast<std::int64_t>(bytes * 8);
    packet p(bytes);
    std::int64_t hit = 0;
    for (std::int64_t i = 0; i < packets; ++i) hit += pattern.apply(p) > 0 ? 1 : 0;
    return static_cast<double>(hit) / static_cast<double>(packets);
}

TEST(BitErrors, ThereAreAsManyAsTheRateSaysAtDifferentPositions) {
    for (const double ber : {0.0, 1e-300, 1e-10, 6e-9, 1e-6, 1e-5, 2.5e-5, 1e-3, 0.1})
        for (const double burst : {0.0, 0.5, 1.0}) {
            const bit_error_pattern p({ber, burst, 3});
            const auto at = p.positions();
            const auto bits = static_cast<double>(p.length_bits());
            EXPECT_NEAR(static_cast<double>(at.size()) / bits, ber, std::max(1e-6 * ber, 1e-18));
            EXPECT_LE(at.size(), 100000U);
            EXPECT_TRUE(std::ranges::is_sorted(at));
            EXPECT_EQ(std::ranges::adjacent_find(at), at.end());
            if (!at.empty()) {
                EXPECT_GE(at.front(), 0);
                EXPECT_LT(at.back(), p.length_bits());
            }
        }
}

TEST(BitErrors, TheSameSeedHitsTheSameBitsHoweverTheStreamIsCut) {
    bit_error_pattern a({1e-3, 0.4, 9}), b({1e-3, 0.4, 9}), other({1e-3, 0.4, 10});
    packet whole(1 << 20), cut(1 << 20), third(1 << 20);
    const int flipped = a.apply(whole);
    std::mt19937 random(1);
    for (std::size_t i = 0; i < cut.size();) {
        const std::size_t n = std::min<std::size_t>(random() % 1500, cut.size() - i);
        b.apply(std::span(cut).subspan(i, n));
        i += n;
    }
    other.apply(third);
    EXPECT_EQ(whole, cut);
    EXPECT_NE(whole, third);
    EXPECT_EQ(ones(whole), flipped);
    EXPECT_NEAR(flipped / (8.0 * (1 << 20)), 1e-3, 5e-5);
}

TEST(BitErrors, ThePatternStartsAgainAtItsEnd) {
    bit_error_pattern p({0.5, 0, 1});
    ASSERT_EQ(p.length_bits(), 200000);
    packet first(25000), second(25000);
    EXPECT_EQ(p.apply(first), 100000);
    EXPECT_EQ(p.apply(second), 100000);
    EXPECT_EQ(first, second);
    packet three(75000);
    EXPECT_EQ(p.apply(three), 300000);
}

TEST(BitErrors, RandomErrorsDamageAsManyPacketsAsIndependentBitsWould) {
    for (const double ber : {1e-6, 1e-5, 2.5e-5}) {
        const double expected = 1 - std::pow(1 - ber, 1480 * 8);
        EXPECT_NEAR(damaged_share({ber, 0, 5}, 1480) / expected, 1, 0.1) << ber;
    }
}

// With probability b the next error is near the last one, so clusters hold 1 / (1 - b) errors on
// average and packets hit fall in proportion.
TEST(BitErrors, BurstsDamageFewerPacketsInProportionToTheLengthOfClusters) {
    const double alone = damaged_share({1e-5, 0, 5}, 1480);
    for (const double burst : {0.25, 0.5, 0.75, 0.9})
        EXPECT_NEAR(damaged_share({1e-5, burst, 5}, 1480) / alone, 1 - burst, 0.08) << burst;
}

TEST(BitErrors, InABurstTheNextErrorIsWithinEightBits) {
    const bit_error_pattern p({1e-6, 0.5, 2});
    const auto at = p.positions();
    int near = 0;
    for (std::size_t i = 1; i < at.size(); ++i) near += at[i] - at[i - 1] <= 8 ? 1 : 0;
    EXPECT_NEAR(near, 50, 20);                  // expected value for 100 errors
    const bit_error_pattern all({1e-6, 1, 2});  // one cluster, which moves slowly
    EXPECT_LT(all.positions().back() - all.positions().front(), 100 * 9);
}

TEST(BitErrors, SettingsThatMakeNoSenseAreNamed) {
    const auto refused = [](const bit_error_config& c, const std::string& what) {
        try {
            bit_error_pattern p(c);
            FAIL() << what;
        } catch (const std::invalid_argument& e) {
            EXPECT_NE(std::string(e.what()).find(what), std::string::npos) << e.what();
        }
    };
    refused({.ber = -1e-9}, "ber");
    refused({.ber = 0.6}, "0..0.5");
    refused({.ber = std::nan("")}, "ber");
    refused({.burstiness = 1.1}, "burstiness");
}

TEST(BitErrorPort, EveryPacketGoesOnAndOnlyWhatIsExposedIsHit) {
    int damaged = 0, packets = 0;
    std::uint64_t wrong = 0;
    bit_error_port port(
        {0.01, 0, 7}, [](std::span<const std::uint8_t>) { return std::size_t{20}; },
        [&](std::span<const std::uint8_t> p, bool is_damaged) {
            ++packets;
            damaged += is_damaged ? 1 : 0;
            int here = 0;
            for (std::size_t i = 0; i < p.size(); ++i) {
                if (i < 20) {
                    EXPECT_EQ(p[i], 0);
                }
                here += std::popcount(p[i]);
            }
            EXPECT_EQ(here > 0, is_damaged);
            wrong += static_cast<std::uint64_t>(here);
        });
    for (int i = 0; i < 1000; ++i) port.deliver(packet(static_cast<std::size_t>(10 + i % 100)));
    const auto& c = port.statistics();
    EXPECT_EQ(packets, 1000);
    EXPECT_EQ(c.packets, 1000U);
    EXPECT_EQ(c.damaged, static_cast<std::uint64_t>(damaged));
    EXPECT_EQ(c.wrong_bits, wrong);
    EXPECT_GT(damaged, 500);
    EXPECT_NEAR(static_cast<double>(wrong) / static_cast<double>(c.bits), 0.01, 0.001);
}

}  // namespace
}  // namespace wip::packet_model
