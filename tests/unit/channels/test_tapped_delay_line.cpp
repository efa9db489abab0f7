// SPDX-License-Identifier: GPL-3.0-or-later
// The multipath model against theory: every statistic of many realisations with its expected value
// and a limit of about five standard deviations.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <stdexcept>
#include <vector>

#include "frequency_correlation.h"
#include "profiles/channel_definition.h"
#include "sample/tapped_delay_line.h"

using namespace wip::sample_model;
using wip::profiles::load;

namespace {

constexpr double rate = 7.68e6;  // Hz
using cf64 = std::complex<double>;

stage_context context(std::uint64_t seed, std::uint32_t purpose = 0) {
    return {rate, seed, purpose};
}

delay_profile one_tap(tap_fading fading, double k_db = 0, double delay_s = 0) {
    return {"one", {{delay_s, 0, fading, k_db}}};
}

std::vector<cf32> gains_at(const tapped_delay_line& t, std::int64_t n) {
    std::vector<cf32> g(t.nof_taps());
    t.gains(n, g);
    return g;
}

// A sum of tones inside the occupied band: its exact delayed version is known.
struct band_signal {
    explicit band_signal(unsigned seed, int tones = 40) {
        std::mt19937 random(seed);
        std::uniform_real_distribution<double> u(-1, 1);
        for (int i = 0; i < tones; ++i)
            parts.push_back({2.5e6 * (2.0 * i / (tones - 1) - 1), M_PI * u(random)});
    }
    cf64 at(double n) const {
        cf64 s;
        for (const auto& [hz, phase] : parts)
            s += std::polar(1.0, 2 * M_PI * hz * n / rate + phase);
        return s / std::sqrt(static_cast<double>(parts.size()));
    }
    std::vector<cf32> samples(std::int64_t first, std::size_t n) const {
        std::vector<cf32> x(n);
        for (std::size_t i = 0; i < n; ++i)
            x[i] = cf32(at(static_cast<double>(first) + static_cast<double>(i)));
        return x;
    }
    std::vector<std::pair<double, double>> parts;
};

// The Kolmogorov-Smirnov distance between the values and their distribution, times the root of the
// number of values.
double distance(std::vector<double> v, auto cdf) {
    std::sort(v.begin(), v.end());
    double worst = 0;
    for (std::size_t i = 0; i < v.size(); ++i)
        worst = std::max(worst, std::abs(cdf(v[i]) - (static_cast<double>(i) + 0.5) /
                                                         static_cast<double>(v.size())));
    return worst * std::sqrt(static_cast<double>(v.size()));
}

}  // namespace

TEST(TappedDelayLine, taps_have_the_powers_of_the_profile_over_realisations) {
    for (const char* name : {"jakes", "tdl-d"}) {
        const delay_profile profile = load(name);
        const std::vector<double> expected = profile.powers();
        std::vector<double> sum(expected.size());
        constexpr int n = 2000;
        for (int seed = 0; seed < n; ++seed) {
            const auto g = gains_at({profile, 125, context(static_cast<std::uint64_t>(seed))}, 777);
            for (std::size_t p = 0; p < g.size(); ++p) sum[p] += std::norm(g[p]);
        }
        for (std::size_t p = 0; p < sum.size(); ++p)
            EXPECT_NEAR(sum[p] / n / expected[p], 1, 5 / std::sqrt(n)) << name << " tap " << p;
    }
}

TEST(TappedDelayLine, keeps_the_mean_level_of_a_signal_in_the_band) {
    const band_signal signal(1);
    double in = 0, out = 0;
    constexpr int n = 500;
    for (int seed = 0; seed < n; ++seed) {
        tapped_delay_line t(load("jakes"), 125, context(static_cast<std::uint64_t>(seed)));
        auto x = signal.samples(0, 600);
        for (std::size_t i = 100; i < x.size(); ++i) in += std::norm(x[i]);
        t.work(0, x, x);
        for (std::size_t i = 100; i < x.size(); ++i) out += std::norm(x[i]);
    }
    // The profile's taps beyond one bin average: standard deviation of the mean about 0.6/sqrt(n).
    EXPECT_NEAR(out / in, 1, 5 * 0.6 / std::sqrt(n));
}

TEST(TappedDelayLine, every_tap_has_the_autocorrelation_of_clarke_and_taps_are_independent) {
    constexpr double doppler = 125;
    const delay_profile profile = load("jakes");
    const std::vector<double> power = profile.powers();
    const tapped_delay_line t(profile, doppler, context(3));
    constexpr int n = 4000;
    for (const double periods : {0.25, 0.3827, 0.5, 1.0, 2.0}) {
        const std::int64_t lag = std::llround(periods / doppler * rate);
        std::vector<cf64> own(power.size());
        cf64 cross;
        for (int i = 0; i < n; ++i) {
            const auto a = gains_at(t, i * 384007LL), b = gains_at(t, i * 384007LL + lag);
            for (std::size_t p = 0; p < power.size(); ++p)
                own[p] += cf64(b[p]) * std::conj(cf64(a[p])) / power[p];
            cross += cf64(b[0]) * std::conj(cf64(a[1])) / std::sqrt(power[0] * power[1]);
        }
        const double x = 2 * M_PI * doppler * static_cast<double>(lag) / rate;
        for (std::size_t p = 0; p < power.size(); ++p) {
            EXPECT_NEAR(own[p].real() / n, std::cyl_bessel_j(0, x), 0.08) << p << ": " << periods;
            EXPECT_NEAR(own[p].imag() / n, 0, 0.08) << p << ": " << periods;
        }
        EXPECT_NEAR(std::abs(cross) / n, 0, 0.08);
    }
}

TEST(TappedDelayLine, frequencies_are_correlated_as_the_fourier_transform_of_the_profile) {
    for (const char* name : {"jakes", "eva", "tdl-c"}) {
        const delay_profile profile = load(name);
        constexpr int n = 4000;
        const std::vector<double> separations{0, 200e3, 400e3, 1e6, 2e6};
        std::vector<cf64> sum(separations.size());
        for (int seed = 0; seed < n; ++seed) {
            const tapped_delay_line t(profile, 125, context(static_cast<std::uint64_t>(seed), 9));
            const cf64 reference = t.response(1000, 300e3);
            for (std::size_t i = 0; i < separations.size(); ++i)
                sum[i] += reference * std::conj(t.response(1000, 300e3 + separations[i]));
        }
        for (std::size_t i = 0; i < separations.size(); ++i)
            EXPECT_NEAR(std::abs(sum[i] / double{n} -
                                 wip::test::frequency_correlation(profile, separations[i])),
                        0, 5 / std::sqrt(n))
                << name << " " << separations[i];
    }
}

TEST(TappedDelayLine, a_rayleigh_tap_has_exponential_power_and_uniform_phase) {
    std::vector<double> power, phase;
    for (std::uint64_t seed = 0; seed < 10000; ++seed) {
        const auto g = gains_at({one_tap(tap_fading::rayleigh), 50, context(seed)}, 4321);
        power.push_back(std::norm(g[0]));
        phase.push_back(std::arg(g[0]) / (2 * M_PI) + 0.5);
    }
    EXPECT_LT(distance(power, [](double p) { return 1 - std::exp(-p); }), 2.2);
    EXPECT_LT(distance(phase, [](double p) { return p; }), 2.2);
}

TEST(TappedDelayLine, a_rice_tap_has_the_moments_of_its_k_factor) {
    // |h|^2 with mean 1: variance (1 + 2K)/(1 + K)^2.
    for (const double k_db : {0.0, 7.0, 13.3}) {
        const double k = std::pow(10, k_db / 10);
        double m1 = 0, m2 = 0;
        constexpr int n = 10000;
        for (int seed = 0; seed < n; ++seed) {
            const double p = std::norm(gains_at(
                {one_tap(tap_fading::rice, k_db), 50, context(static_cast<std::uint64_t>(seed))},
                99)[0]);
            m1 += p / n;
            m2 += p * p / n;
        }
        const double variance = (1 + 2 * k) / ((1 + k) * (1 + k));
        EXPECT_NEAR(m1, 1, 5 * std::sqrt(variance / n)) << k_db;
        EXPECT_NEAR((m2 - m1 * m1) / variance, 1, 0.15) << k_db;
    }
}

TEST(TappedDelayLine, a_constant_tap_keeps_still) {
    const tapped_delay_line t(load("static"), 300, context(5));
    EXPECT_EQ(gains_at(t, 0), gains_at(t, 1'000'000'007));
    double sum = 0;
    for (const cf32 g : gains_at(t, 5)) sum += std::norm(g);
    EXPECT_NEAR(sum, 1, 1e-6);
}

TEST(TappedDelayLine, delays_by_fractions_of_a_sample_to_better_than_60_db_in_the_band) {
    for (const double delay : {0.0, 0.25, 0.5, 1.536, 7.37, 15.9, 95.4}) {
        tapped_delay_line t(one_tap(tap_fading::constant, 0, delay / rate), 0, context(1));
        const band_signal signal(2);
        const auto x = signal.samples(0, 1000);
        std::vector<cf32> y(x.size());
        t.work(0, x, y);
        const cf64 g = gains_at(t, 0)[0];
        double error = 0, power = 0;
        for (std::size_t i = 200; i < y.size(); ++i) {
            const cf64 exact =
                g * signal.at(static_cast<double>(i) - delay - static_cast<double>(t.latency()));
            error += std::norm(cf64(y[i]) - exact);
            power += std::norm(exact);
        }
        EXPECT_LT(10 * std::log10(error / power), -60) << delay;
    }
}

TEST(TappedDelayLine, output_is_the_sum_of_moving_taps_to_better_than_50_db) {
    for (const double doppler : {5.0, 125.0, 2000.0}) {
        const delay_profile profile = load("jakes");
        tapped_delay_line t(profile, doppler, context(7));
        const band_signal signal(3);
        constexpr std::int64_t first = 123456789;
        const auto x = signal.samples(first, 3000);
        std::vector<cf32> y(x.size());
        t.work(first, x, y);
        double error = 0, power = 0;
        for (std::size_t i = 100; i < y.size(); ++i) {
            const std::int64_t n = first + static_cast<std::int64_t>(i);
            const auto g = gains_at(t, n);
            cf64 exact;
            for (std::size_t p = 0; p < g.size(); ++p)
                exact += cf64(g[p]) *
                         signal.at(static_cast<double>(n) - static_cast<double>(t.latency()) -
                                   profile.taps[p].delay_s * rate);
            error += std::norm(cf64(y[i]) - exact);
            power += std::norm(exact);
        }
        const double db = 10 * std::log10(error / power);
        EXPECT_LT(db, doppler < 200 ? -60 : -50) << doppler;
        RecordProperty("error_db_at_" + std::to_string(static_cast<int>(doppler)),
                       std::to_string(db));
    }
}

// Gains are interpolated between knots; the second difference has no jump there.
TEST(TappedDelayLine, gains_move_smoothly_over_the_knots) {
    constexpr double doppler = 300;
    const tapped_delay_line t(one_tap(tap_fading::rice, 6), doppler, context(4));
    const double w = 2 * M_PI * doppler * 16 / rate;
    for (std::int64_t n = -20000; n < 20000; n += 16) {
        const cf32 a = gains_at(t, n - 16)[0], b = gains_at(t, n)[0], c = gains_at(t, n + 16)[0];
        ASSERT_LT(std::abs(a - 2.0f * b + c), 8 * w * w + 1e-6) << n;
    }
}

TEST(TappedDelayLine, does_not_depend_on_how_the_stream_is_cut) {
    std::mt19937 random(2);
    std::vector<cf32> in(40000), cut(in.size());
    for (cf32& s : in)
        s = {static_cast<float>(random() % 1000), static_cast<float>(random() % 1000)};
    constexpr std::int64_t first = -12345;
    for (const char* name : {"jakes", "etu", "tdl-e"}) {
        tapped_delay_line a(load(name), 100, context(6)), b(load(name), 100, context(6));
        std::vector<cf32> whole(in.size());
        a.work(first, in, whole);
        for (std::size_t done = 0; done < cut.size();) {
            const std::size_t n = std::min<std::size_t>(random() % 300, cut.size() - done);
            b.work(first + static_cast<std::int64_t>(done), {in.data() + done, n},
                   {cut.data() + done, n});
            done += n;
        }
        EXPECT_EQ(whole, cut) << name;
        // Going back: memory() samples first, then the same bits again.
        const std::int64_t m = b.memory();
        const std::size_t from = 7777 - static_cast<std::size_t>(m);
        std::vector<cf32> again(static_cast<std::size_t>(m) + 100);
        b.work(first + 7777 - m, {in.data() + from, again.size()}, again);
        EXPECT_TRUE(std::equal(again.begin() + m, again.end(), whole.begin() + 7777)) << name;
    }
}

TEST(TappedDelayLine, of_different_seeds_is_different_and_of_equal_seeds_equal) {
    const delay_profile jakes = load("jakes");
    const auto g = [&](std::uint64_t seed, std::uint32_t purpose) {
        return gains_at({jakes, 50, context(seed, purpose)}, 0);
    };
    EXPECT_EQ(g(7, 0), g(7, 0));
    EXPECT_NE(g(7, 0), g(8, 0));
    EXPECT_NE(g(7, 0), g(7, 1));
}

TEST(TappedDelayLine, refuses_bad_profiles_and_dopplers) {
    const auto make = [](const delay_profile& p, double doppler) {
        return tapped_delay_line(p, doppler, context(1));
    };
    EXPECT_THROW(make({"none", {}}, 5), std::invalid_argument);
    EXPECT_THROW(make(one_tap(tap_fading::rayleigh, 0, -1e-9), 5), std::invalid_argument);
    EXPECT_THROW(make(one_tap(tap_fading::rayleigh, 0, 13e-6), 5), std::invalid_argument);
    EXPECT_THROW(make({"p", {{0, NAN}}}, 5), std::invalid_argument);
    EXPECT_THROW(make(one_tap(tap_fading::rice, 61), 5), std::invalid_argument);
    EXPECT_THROW(make(one_tap(tap_fading::rayleigh), -1), std::invalid_argument);
    EXPECT_THROW(make(one_tap(tap_fading::rayleigh), 2001), std::invalid_argument);
    EXPECT_THROW(make({"many", std::vector<profile_tap>(65)}, 5), std::invalid_argument);
}
