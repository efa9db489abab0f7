// SPDX-License-Identifier: GPL-3.0-or-later
// The bin-level channel against the sum over resource elements written out, and its statistics
// against theory with limits of about five standard deviations.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <stdexcept>
#include <vector>

#include "bin/discrete_gauss.h"
#include "bin/fading_channel.h"
#include "bin/trace_channel.h"
#include "frequency_correlation.h"
#include "profiles/channel_definition.h"
#include "sample/tapped_delay_line.h"
#include "steady_fading.h"
#include "types/db.h"

using namespace wip;
using namespace wip::bin_model;
using profiles::load;

namespace {

using row = std::array<float, nof_bins>;

fading_config config(const char* profile, double doppler_hz, std::uint64_t seed,
                     double mean_snr_db = 0) {
    return steady_fading(load(profile), doppler_hz, db(mean_snr_db), seed);
}

// Mean |H|^2 of the 120 elements of every bin, from the delay line's own gains.
row written_out(const fading_config& c, slot s) {
    const sample_model::tapped_delay_line line(c.channel.profile,
                                               sample_model::motion(c.channel.movement, 7.68e6),
                                               {.seed = c.seed, .purpose = c.purpose});
    row sum{};
    for (int l = 0; l < symbols_per_slot; ++l) {
        const std::int64_t middle = first_sample(s).value + symbol_middle(l);
        for (int n = 0; n < nof_subcarriers; ++n)
            sum[static_cast<std::size_t>(n / subcarriers_per_bin)] +=
                static_cast<float>(std::norm(line.response(middle, subcarrier_hz(n))) / 120);
    }
    return sum;
}

row snr_of(bin_channel& c, std::int64_t s) {
    row r;
    c.snr(slot(s), r);
    return r;
}

}  // namespace

TEST(DiscreteGauss, is_exact_for_polynomials_up_to_twice_its_size_less_one) {
    std::vector<double> points;
    for (int i = 0; i < 20; ++i) points.push_back(3 + i + (i >= 10 ? 1 : 0));
    for (int count = 1; count <= 6; ++count) {
        const quadrature q = discrete_gauss(points, count);
        for (int degree = 0; degree < 2 * count; ++degree) {
            double mean = 0, by_rule = 0;
            for (const double p : points) mean += std::pow((p - 13) / 10, degree) / 20;
            for (std::size_t i = 0; i < q.nodes.size(); ++i)
                by_rule += q.weights[i] * std::pow((q.nodes[i] - 13) / 10, degree);
            EXPECT_NEAR(by_rule, mean, 1e-9) << count << " nodes, degree " << degree;
        }
    }
    const quadrature all = discrete_gauss(points, 20);
    for (std::size_t i = 0; i < 20; ++i) EXPECT_NEAR(all.nodes[i], points[i], 1e-4);
}

TEST(BinChannel, is_the_mean_over_the_elements_of_the_bin_written_out) {
    for (const char* name : {"flat", "jakes", "eva", "etu", "tdl-c", "tdl-d", "static"}) {
        for (const double doppler : {5.0, 125.0, 1000.0}) {
            const fading_config c = config(name, doppler, 11);
            fading_channel channel(c);
            for (const std::int64_t s : {0, 3, 123456}) {
                const row exact = written_out(c, slot(s)), got = snr_of(channel, s);
                for (std::size_t b = 0; b < nof_bins; ++b)
                    EXPECT_NEAR(got[b], exact[b], 6e-4) << name << " " << doppler << " bin " << b;
            }
        }
    }
}

TEST(BinChannel, is_a_function_of_the_slot_whatever_the_order) {
    fading_channel forward(config("jakes", 125, 5)), back(config("jakes", 125, 5));
    std::vector<row> rows;
    for (std::int64_t s = 0; s < 300; ++s) rows.push_back(snr_of(forward, s));
    for (std::int64_t s = 299; s >= 0; --s)
        EXPECT_EQ(snr_of(back, s), rows[static_cast<std::size_t>(s)]) << s;
    fading_channel other(config("jakes", 125, 6));
    EXPECT_NE(snr_of(other, 0), rows[0]);
}

TEST(BinChannel, has_the_mean_snr_that_is_asked_for_and_exponential_power) {
    // One flat tap, one realisation for each value: exponential with the mean.
    std::vector<double> g;
    for (std::uint64_t seed = 0; seed < 10000; ++seed) {
        fading_channel c(config("flat", 50, seed, 13));
        g.push_back(static_cast<double>(snr_of(c, 77)[3]) / db(13).power());
    }
    std::sort(g.begin(), g.end());
    double worst = 0;
    for (std::size_t i = 0; i < g.size(); ++i)
        worst =
            std::max(worst, std::abs(1 - std::exp(-g[i]) - (static_cast<double>(i) + 0.5) / 10000));
    EXPECT_LT(worst * 100, 2.2);  // Kolmogorov
}

TEST(BinChannel, is_correlated_in_time_as_the_square_of_j0) {
    constexpr double doppler = 125;
    fading_channel c(config("flat", doppler, 3));
    constexpr int n = 60000;
    std::vector<double> g;
    for (int s = 0; s < n; ++s) g.push_back(static_cast<double>(snr_of(c, s * 7)[0]));
    double mean = 0, variance = 0;
    for (const double v : g) mean += v / n;
    for (const double v : g) variance += (v - mean) * (v - mean) / n;
    EXPECT_NEAR(mean, 1, 0.05);
    EXPECT_NEAR(variance, 1, 0.1);
    for (const int lag : {1, 2, 3, 6, 12}) {
        double sum = 0;
        for (int s = 0; s < n; ++s) {
            const double later = static_cast<double>(snr_of(c, s * 7LL + lag)[0]);
            sum += (g[static_cast<std::size_t>(s)] - mean) * (later - mean) / n;
        }
        const double j0 = std::cyl_bessel_j(0, 2 * M_PI * doppler * lag / 1500);
        EXPECT_NEAR(sum / variance, j0 * j0, 0.05) << lag;
    }
}

TEST(BinChannel, is_correlated_between_bins_as_the_profile_says) {
    for (const char* name : {"jakes", "eva", "tdl-c"}) {
        const auto profile = load(name);
        constexpr int n = 4000;
        double mean = 0;
        std::array<double, 6> product{};
        double square = 0;
        for (int seed = 0; seed < n; ++seed) {
            fading_channel c(
                steady_fading(profile, 125, db(0), static_cast<std::uint64_t>(seed), 4));
            const row g = snr_of(c, 5);
            // Pooled over the bins in reach.
            for (std::size_t b = 0; b + 5 < 12; ++b) {
                mean += static_cast<double>(g[b]) / (7.0 * n);
                square += static_cast<double>(g[b] * g[b]) / (7.0 * n);
                for (std::size_t d = 1; d < 6; ++d)
                    product[d] += static_cast<double>(g[b] * g[b + d]) / (7.0 * n);
            }
        }
        EXPECT_NEAR(mean, 1, 0.06) << name;
        // cov(g_b, g_b+d) is the mean of |R|^2 over pairs of subcarriers; time moves little.
        const auto expected = [&](int d) {
            double sum = 0;
            for (int i = 0; i < 20; ++i)
                for (int k = 0; k < 20; ++k)
                    sum += std::norm(test::frequency_correlation(profile, 1e4 * (20 * d + k - i))) /
                           400;
            return sum;
        };
        EXPECT_NEAR(square - mean * mean, expected(0), 0.1) << name;
        for (int d = 1; d < 6; ++d)
            EXPECT_NEAR(product[static_cast<std::size_t>(d)] - mean * mean, expected(d), 0.08)
                << name << " " << d;
    }
}

TEST(BinChannel, gives_the_gain_whose_power_is_the_snr_where_a_bin_is_flat) {
    fading_channel c(config("flat", 30, 9));
    row g;
    std::array<cf32, nof_bins> h;
    c.snr_and_gain(slot(42), g, h);
    for (std::size_t b = 0; b < nof_bins; ++b) EXPECT_NEAR(std::norm(h[b]), g[b], 2e-3);
}

TEST(BinChannel, refuses_bad_arguments) {
    EXPECT_THROW(fading_channel(config("jakes", -1, 1)), std::invalid_argument);
    EXPECT_THROW(fading_channel(config("jakes", 2001, 1)), std::invalid_argument);
    EXPECT_THROW(fading_channel(config("jakes", 5, 1, NAN)), std::invalid_argument);
    EXPECT_THROW(fading_channel(config("jakes", 5, 1, 81)), std::invalid_argument);
    EXPECT_THROW(fading_channel(steady_fading({"none", {}}, 5, db(16), 1)), std::invalid_argument);
}

TEST(TraceChannel, plays_its_rows_and_begins_again) {
    std::vector<trace_row> rows(4), predicted(4);
    for (std::size_t t = 0; t < 4; ++t) {
        rows[t].fill(static_cast<float>(t) * 10);
        predicted[t].fill(static_cast<float>(t) * 10 - 5);
    }
    trace_channel plain(rows), both(rows, predicted);
    EXPECT_EQ(both.nof_slots(), slot_count(4));
    row g;
    for (const std::int64_t s : {2, 6, -2, 4002}) {
        both.snr(slot(s), g);
        EXPECT_NEAR(g[24], 100, 1e-4) << s;
        both.predicted_snr(slot(s), g);
        EXPECT_NEAR(g[0], std::pow(10, 1.5), 1e-4) << s;
        plain.predicted_snr(slot(s), g);
        EXPECT_NEAR(g[0], 100, 1e-4) << s;
    }
    EXPECT_FALSE(plain.has_prediction());
}

TEST(TraceChannel, refuses_bad_rows) {
    const std::vector<trace_row> good(3, trace_row{});
    EXPECT_THROW(trace_channel({}), std::invalid_argument);
    EXPECT_THROW(trace_channel(good, {trace_row{}}), std::invalid_argument);
    for (const float bad : {NAN, INFINITY, -INFINITY, -60.1f, 80.1f}) {
        std::vector<trace_row> rows = good;
        rows[1][7] = bad;
        EXPECT_THROW((trace_channel{rows}), std::invalid_argument);
        EXPECT_THROW(trace_channel(good, rows), std::invalid_argument);
    }
}
