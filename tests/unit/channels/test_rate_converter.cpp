// SPDX-License-Identifier: GPL-3.0-or-later
// The converter against the signal itself, which is known at any time: a sum of tones over the band
// of the carrier.
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <vector>

#include "sample/rate_converter.h"

using namespace wip::sample_model;

namespace {

constexpr exact_rate medium{7'680'000};  // Hz

// Tones from -2.5 to 2.5 MHz; `index` of a rate is the time index/rate.
cf32 signal(std::int64_t index, const exact_rate& rate) {
    std::complex<double> sum;
    const long double seconds = static_cast<long double>(index) * rate.divider /
                                (static_cast<long double>(rate.clock) * (1 + 1e-12L * rate.parts));
    for (int k = -25; k <= 25; ++k) {
        const long double turns = seconds * (k * 100e3L + 1234);
        sum += std::polar(0.1, static_cast<double>(2 * std::numbers::pi_v<long double> *
                                                   (turns - std::floor(turns))) +
                                   k * k);
    }
    return cf32(sum);
}

std::vector<cf32> converted(const exact_rate& in, const exact_rate& out, std::int64_t first,
                            std::size_t size, std::size_t piece) {
    rate_converter c(in, out);
    c.restart(c.map().of(first).whole - c.before());
    std::vector<cf32> y(size);
    for (std::size_t done = 0; done < size;) {
        const std::size_t n = std::min(piece, size - done);
        const std::int64_t from = first + static_cast<std::int64_t>(done);
        const std::int64_t needed =
            c.map().of(from + static_cast<std::int64_t>(n) - 1).whole + c.after() + 1;
        std::vector<cf32> x;
        for (std::int64_t i = c.fed(); i < needed; ++i) x.push_back(signal(i, in));
        c.feed(x);
        c.work(from, {y.data() + done, n});
        done += n;
    }
    return y;
}

double error_db(const std::vector<cf32>& y, const exact_rate& out, std::int64_t first) {
    double error = 0, power = 0;
    for (std::size_t i = 0; i < y.size(); ++i) {
        const cf32 wanted = signal(first + static_cast<std::int64_t>(i), out);
        error += std::norm(std::complex<double>(y[i]) - std::complex<double>(wanted));
        power += std::norm(wanted);
    }
    return 10 * std::log10(error / power);
}

struct pair_of_rates {
    exact_rate in, out;
};
class RateConverter : public testing::TestWithParam<pair_of_rates> {};

TEST_P(RateConverter, gives_the_signal_at_the_times_of_the_other_rate) {
    const auto [in, out] = GetParam();
    const auto y = converted(in, out, 1'000'003, 20'000, 777);
    EXPECT_LT(error_db(y, out, 1'000'003), -80);
}

// After ten days the places are still those of the formula.
TEST_P(RateConverter, has_not_drifted_after_ten_days) {
    const auto [in, out] = GetParam();
    const std::int64_t late = static_cast<std::int64_t>(864'000 * out.hz()) / 7 * 7 + 5;
    EXPECT_LT(error_db(converted(in, out, late, 3'000, 500), out, late), -75);
}

TEST_P(RateConverter, result_does_not_depend_on_the_pieces) {
    const auto [in, out] = GetParam();
    EXPECT_EQ(converted(in, out, 12'345, 2'000, 2'000), converted(in, out, 12'345, 2'000, 61));
}

INSTANTIATE_TEST_SUITE_P(Rates, RateConverter,
                         testing::Values(pair_of_rates{medium, {100'000'000, 10}},
                                         pair_of_rates{{100'000'000, 10}, medium},
                                         pair_of_rates{medium, {100'000'000, 8}},
                                         pair_of_rates{{100'000'000, 12}, medium},
                                         pair_of_rates{{200'000'000, 26}, medium},
                                         pair_of_rates{medium, {200'000'000, 26}},
                                         pair_of_rates{medium, {7'680'000, 1, 2'500'000}},
                                         pair_of_rates{{184'320'000, 24, -20'000'000}, medium},
                                         pair_of_rates{{100'000'000, 4, 2'500'000}, medium}));

TEST(RateConverter, equal_rates_change_nothing) {
    const exact_rate same{184'320'000, 24};
    const auto y = converted(medium, same, -40, 300, 100);
    for (std::size_t i = 0; i < y.size(); ++i)
        ASSERT_EQ(y[i], signal(static_cast<std::int64_t>(i) - 40, medium)) << i;
}

TEST(RateMap, is_exact_both_ways) {
    const rate_map map(medium, {100'000'000, 10});  // 96 inputs for 125 outputs
    EXPECT_EQ(map.of(125'000'000'000).whole, 96'000'000'000);
    EXPECT_EQ(map.of(125'000'000'000).fraction, 0u);
    EXPECT_EQ(map.of(-1).whole, -1);
    for (std::int64_t input : {-97LL, -96LL, 0LL, 1LL, 95LL, 96LL, 96'000'000'000'001LL}) {
        const std::int64_t n = map.at_or_after(input);
        EXPECT_GE(map.of(n).whole, input);
        EXPECT_LT(map.of(n - 1).whole, input);
    }
}

// An hour at 10 ppm: 276480 samples more (the figure of sample_clock.h).
TEST(RateMap, an_hour_of_a_fast_clock) {
    const rate_map map(medium, {7'680'000, 1, 10'000'000});
    const std::int64_t hour = 7'680'000LL * 3600;
    EXPECT_NEAR(static_cast<double>(map.at_or_after(hour) - hour), 276'480, 1.1);
}

TEST(RateMap, refuses_what_is_no_rate) {
    EXPECT_THROW(rate_map({0}, medium), std::invalid_argument);
    EXPECT_THROW(rate_map(medium, {7, 0}), std::invalid_argument);
}

}  // namespace
