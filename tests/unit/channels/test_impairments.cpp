// SPDX-License-Identifier: GPL-3.0-or-later
// Every impairment does what its header promises, in numbers, and nothing depends on chunks.
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <stdexcept>
#include <vector>

#include "sample/stage_chain.h"

using namespace wip::sample_model;

namespace {

constexpr double rate = 7.68e6;  // Hz
using cf64 = std::complex<double>;
const stage_context context{rate, 1, 0};

std::vector<cf32> run(const impairment_config& config, std::int64_t first,
                      const std::vector<cf32>& in, std::uint64_t seed = 1) {
    stage_chain chain({config}, {rate, seed, 0});
    std::vector<cf32> out(in.size());
    chain.work(first, in, out);
    return out;
}

std::vector<cf32> zeros(std::size_t n) { return std::vector<cf32>(n); }
std::vector<cf32> ones(std::size_t n) { return std::vector<cf32>(n, cf32(1, 0)); }

std::vector<cf32> complex_tone(double hz, std::size_t n, double first = 0) {
    std::vector<cf32> x(n);
    for (std::size_t i = 0; i < n; ++i)
        x[i] = cf32(std::polar(0.5, 2 * M_PI * hz / rate * (first + static_cast<double>(i))));
    return x;
}

std::vector<cf32> random_samples(std::size_t n) {
    std::mt19937 random(3);
    std::normal_distribution<float> normal(0, 0.1f);
    std::vector<cf32> x(n);
    for (cf32& s : x) s = {normal(random), normal(random)};
    return x;
}

double power(const std::vector<cf32>& x, std::size_t skip = 0) {
    double sum = 0;
    for (std::size_t i = skip; i < x.size(); ++i) sum += std::norm(cf64(x[i]));
    return sum / static_cast<double>(x.size() - skip);
}

// Component of x at a frequency.
cf64 component(const std::vector<cf32>& x, double hz, std::size_t skip = 0) {
    cf64 sum;
    for (std::size_t i = skip; i < x.size(); ++i)
        sum += cf64(x[i]) * std::polar(1.0, -2 * M_PI * hz / rate * static_cast<double>(i));
    return sum / static_cast<double>(x.size() - skip);
}

const std::vector<impairment_config> every{cfo_config{3000, 50},
                                           clock_offset_config{-20, 100.5, 1000},
                                           timing_jump_config{-7, 0.001, 0.001, 50, 100},
                                           phase_noise_config{100},
                                           dc_offset_config{-40, 30},
                                           iq_imbalance_config{30, 45},
                                           gain_step_config{6, 0.001, 0.001},
                                           quantiser_config{12, 0},
                                           gap_config{100, 0.001, 0.001},
                                           tone_config{-30, 1e6},
                                           interference_config{-30, 3e5, 1e6}};

}  // namespace

TEST(Impairments, do_not_depend_on_how_the_stream_is_cut_and_can_go_back) {
    const auto in = random_samples(40000);
    constexpr std::int64_t first = -9999;
    for (std::size_t kind = 0; kind <= every.size(); ++kind) {
        // each impairment alone, then all in a row
        const auto configs = kind < every.size() ? std::vector{every[kind]} : every;
        stage_chain a(configs, context), b(configs, context);
        std::vector<cf32> whole(in.size()), cut(in.size());
        a.work(first, in, whole);
        std::mt19937 random(4);
        for (std::size_t done = 0; done < cut.size();) {
            const std::size_t n = std::min<std::size_t>(random() % 300, cut.size() - done);
            b.work(first + static_cast<std::int64_t>(done), {in.data() + done, n},
                   {cut.data() + done, n});
            done += n;
        }
        EXPECT_EQ(whole, cut) << kind;
        const std::int64_t m = b.memory();
        std::vector<cf32> again(static_cast<std::size_t>(m) + 100);
        const std::size_t from = 20000 - static_cast<std::size_t>(m);
        b.work(first + 20000 - m, {in.data() + from, again.size()}, again);
        EXPECT_TRUE(std::equal(again.begin() + m, again.end(), whole.begin() + 20000)) << kind;
    }
}

TEST(Impairments, of_one_seed_are_equal_and_of_another_seed_different) {
    for (const impairment_config& c :
         {impairment_config{phase_noise_config{100}}, impairment_config{interference_config{}}}) {
        EXPECT_EQ(run(c, 0, ones(100), 1), run(c, 0, ones(100), 1));
        EXPECT_NE(run(c, 0, ones(100), 1), run(c, 0, ones(100), 2));
    }
}

TEST(Impairments, cfo_has_the_exact_phase_after_ten_days) {
    // 3000 Hz = 1/2560 cycle a sample: the phase at a multiple of 2560 is that at 0.
    constexpr std::int64_t late = 2560LL * 2'592'000'000LL;  // 240 hours
    const auto y = run(cfo_config{3000, 0}, late, ones(5120));
    for (std::size_t i = 0; i < y.size(); ++i)
        ASSERT_LT(std::abs(cf64(y[i]) - std::polar(1.0, 2 * M_PI * static_cast<double>(i) / 2560)),
                  2e-6)
            << i;
}

TEST(Impairments, cfo_drifts_as_told) {
    // After t seconds the phase is 2 pi (f t + r t^2/2).
    const double f = -4000, r = 1000;
    const std::int64_t n = 7'680'000 * 3;
    const double t = 3;
    const cf64 expected = std::polar(1.0, 2 * M_PI * std::fmod(f * t + r * t * t / 2, 1.0));
    const auto y = run(cfo_config{f, r}, n, ones(1));
    // Phase counts from sample 0 with the offset of the middle of each sample: r t/(2 fs) less.
    EXPECT_LT(std::abs(cf64(y[0]) - expected), 2 * M_PI * r * t / (2 * rate) + 1e-4);
}

TEST(Impairments, clock_offset_moves_by_exactly_its_ppm_for_an_hour) {
    const clock_offset c({5, 0, 1e6}, context);
    const std::int64_t hour = 7'680'000LL * 3600;
    EXPECT_EQ(c.delay(0), 0);
    EXPECT_EQ(c.delay(hour), 138240LL << 32);            // 5e-6 of an hour in samples
    EXPECT_EQ(c.delay(200'000), std::int64_t{1} << 32);  // a sample every 200 000
    const clock_offset back({-5, 140000, 1e6}, context);
    EXPECT_EQ(back.delay(hour), (140000LL - 138240LL) << 32);
    EXPECT_EQ(back.delay(139999LL * 200'000), std::int64_t{1} << 32);
    EXPECT_EQ(back.delay(140000LL * 200'000), 0);
    EXPECT_EQ(back.delay(140005LL * 200'000), 0);
}

TEST(Impairments, clock_offset_resamples_to_better_than_60_db_in_the_band) {
    for (const double ppm : {5.0, -10.0, 100.0}) {
        for (const double hz : {100e3, 1.7e6, -2.5e6}) {
            const clock_offset_config config{ppm, 700.3, 4096};
            const clock_offset model(config, context);
            constexpr std::int64_t first = 1'000'000;
            std::vector<cf32> x = complex_tone(hz, 30000, first);
            const auto y = run(config, first, x);
            double error = 0;
            std::size_t count = 0;
            for (std::size_t i = 2000; i < y.size(); ++i, ++count) {
                const double n = static_cast<double>(first) + static_cast<double>(i);
                const double late =
                    static_cast<double>(model.delay(first + static_cast<std::int64_t>(i))) *
                        0x1p-32 +
                    static_cast<double>(model.latency());
                error +=
                    std::norm(cf64(y[i]) -
                              std::polar(0.5, 2 * M_PI * std::fmod(hz / rate * (n - late), 1.0)));
            }
            EXPECT_LT(10 * std::log10(error / static_cast<double>(count) / 0.25), -60)
                << ppm << " " << hz;
        }
    }
}

TEST(Impairments, timing_jump_delays_by_whole_samples_from_its_event_on) {
    std::vector<cf32> x(20000);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = {static_cast<float>(i), 0};
    // 7680 samples are a millisecond.
    const auto up = run(timing_jump_config{10, 0.001, 0.001, 0, 15}, 0, x);
    EXPECT_EQ(up[7679].real(), 7679);
    EXPECT_EQ(up[7680].real(), 7670);
    EXPECT_EQ(up[16000].real(), 15990);  // a second jump would leave 0 to 15
    const auto down = run(timing_jump_config{-10, 0.001, 0, 30, 30}, 0, x);
    EXPECT_EQ(down[7679].real(), 7649);
    EXPECT_EQ(down[7680].real(), 7660);
}

TEST(Impairments, phase_noise_grows_with_the_variance_of_its_linewidth) {
    constexpr double linewidth = 200;
    // Increments over 1600 samples, many of them far apart.
    const std::int64_t lag = 1600;
    double sum = 0;
    constexpr int n = 3000;
    phase_noise p({linewidth}, context);
    for (int i = 0; i < n; ++i) {
        cf32 a(1, 0), b(1, 0);
        const std::int64_t at = i * 100'003LL * 16;
        p.work(at, {&a, 1}, {&a, 1});
        p.work(at + lag, {&b, 1}, {&b, 1});
        const double d = std::arg(cf64(b) * std::conj(cf64(a)));
        sum += d * d;
    }
    const double expected = 2 * M_PI * linewidth / rate * static_cast<double>(lag);
    EXPECT_NEAR(sum / n / expected, 1, 5 * std::sqrt(2.0 / n));
}

TEST(Impairments, phase_noise_goes_on_after_a_month) {
    const auto y = run(phase_noise_config{50}, (std::int64_t{1} << 44) - 20000, ones(40000));
    for (const cf32& v : y) ASSERT_NEAR(std::abs(v), 1, 1e-4);
}

TEST(Impairments, phase_noise_keeps_the_amplitude_and_is_smooth_over_its_intervals) {
    const auto y = run(phase_noise_config{50}, 0, ones(40000));
    for (std::size_t i = 1; i < y.size(); ++i) {
        ASSERT_NEAR(std::abs(y[i]), 1, 1e-5);
        ASSERT_LT(std::abs(y[i] - y[i - 1]), 0.02) << i;  // 6 sigma over a knot is 0.15 rad/4
    }
}

TEST(Impairments, dc_offset_adds_its_level_at_its_angle) {
    const auto y = run(dc_offset_config{-40, 30}, 0, zeros(10));
    EXPECT_LT(std::abs(cf64(y[5]) - std::polar(0.01, M_PI / 6)), 1e-8);
}

TEST(Impairments, iq_imbalance_has_its_image_rejection_and_keeps_the_power) {
    for (const double rejection : {20.0, 30.0, 55.0})
        for (const double angle : {0.0, 45.0, 90.0}) {
            const auto y = run(iq_imbalance_config{rejection, angle}, 0, complex_tone(1e6, 7680));
            const double wanted = std::norm(component(y, 1e6)),
                         image = std::norm(component(y, -1e6));
            EXPECT_NEAR(10 * std::log10(wanted / image), rejection, 0.02);
            EXPECT_NEAR(power(y), 0.25, 1e-5);
        }
}

TEST(Impairments, gain_step_adds_and_takes_its_step) {
    const auto y = run(gain_step_config{-6, 0.001, 0.002}, 0, ones(40000));
    const float low = static_cast<float>(std::pow(10, -0.3));
    EXPECT_EQ(y[7679], cf32(1, 0));
    EXPECT_NEAR(y[7680].real(), low, 1e-6);
    EXPECT_NEAR(y[7680 + 15359].real(), low, 1e-6);
    EXPECT_EQ(y[7680 + 15360], cf32(1, 0));
}

TEST(Impairments, quantiser_of_16_bits_gives_the_values_of_sc16_and_clips) {
    const auto y =
        run(quantiser_config{16, 0}, 0, {{0.5f, -0.25f}, {3, -3}, {1.0f / 32767, 0.4f / 32767}});
    EXPECT_FLOAT_EQ(y[0].real(), std::nearbyint(0.5f * 32767) / 32767);
    EXPECT_EQ(y[1], cf32(1, -1));
    EXPECT_FLOAT_EQ(y[2].real(), 1.0f / 32767);
    EXPECT_EQ(y[2].imag(), 0);
}

TEST(Impairments, quantiser_noise_is_a_sixth_of_its_step_squared) {
    const auto x = random_samples(100000);
    for (const double bits : {8.0, 12.0}) {
        auto y = run(quantiser_config{bits, 0}, 0, x);
        for (std::size_t i = 0; i < y.size(); ++i) y[i] -= x[i];
        const double step = 1 / (std::exp2(bits - 1) - 1);
        EXPECT_NEAR(power(y) / (step * step / 6), 1, 0.03) << bits;
    }
}

TEST(Impairments, gap_loses_its_samples_and_no_others) {
    const auto y = run(gap_config{100, 0.001, 0.001}, 0, ones(20000));
    for (std::size_t i = 0; i < y.size(); ++i)
        ASSERT_EQ(y[i] == cf32{}, i >= 7680 && (i - 7680) % 7680 < 100) << i;
}

TEST(Impairments, tone_has_its_frequency_and_power) {
    const auto y = run(tone_config{-30, 1.25e6}, 0, zeros(76800));
    EXPECT_NEAR(10 * std::log10(std::norm(component(y, 1.25e6))), -30, 1e-3);
    EXPECT_NEAR(10 * std::log10(power(y)), -30, 1e-3);
}

TEST(Impairments, interference_has_its_power_in_its_band) {
    const auto y = run(interference_config{-20, 500e3, 1e6}, 0, zeros(200000));
    EXPECT_NEAR(10 * std::log10(power(y)), -20, 0.2);
    // Mean periodogram of blocks of 1024 samples, by the distance from the centre.
    double inside = 0, outside = 0, all = 0;
    for (std::size_t block = 0; block + 1024 <= y.size(); block += 8192) {
        const std::vector<cf32> part(y.begin() + static_cast<std::ptrdiff_t>(block),
                                     y.begin() + static_cast<std::ptrdiff_t>(block) + 1024);
        for (int k = -512; k < 512; k += 2) {
            const double hz = k * rate / 1024;
            const double p = std::norm(component(part, hz));
            all += p;
            (std::abs(hz - 500e3) < 500e3   ? inside
             : std::abs(hz - 500e3) > 900e3 ? outside
                                            : all) += p;
        }
    }
    EXPECT_GT(inside, 50 * outside);
}

TEST(Impairments, chain_applies_them_in_order_and_sums_memory_and_latency) {
    const stage_chain chain(every, context);
    const clock_offset clock({-20, 100.5, 1000}, context);
    EXPECT_EQ(chain.latency(), clock.latency());
    EXPECT_EQ(chain.memory(), clock.memory() + 100);
    stage_chain order({dc_offset_config{-20, 0}, gain_step_config{20, 0, 0}}, context);
    std::vector<cf32> y(3);
    order.work(0, y, y);
    EXPECT_NEAR(y[1].real(), 1, 1e-6);  // -20 dBFS, then + 20 dB
}

TEST(Impairments, refuse_values_out_of_range_by_name) {
    const std::vector<impairment_config> bad{cfo_config{1e7, 0},
                                             cfo_config{NAN, 0},
                                             cfo_config{0, 1e6},
                                             clock_offset_config{101, 0, 100},
                                             clock_offset_config{-5, 0, 100},
                                             clock_offset_config{5, 101, 100},
                                             clock_offset_config{5, 0, 1e7},
                                             timing_jump_config{0, 0, 0, 0, 100},
                                             timing_jump_config{-1, 0, 0, 0, 100},
                                             timing_jump_config{101, 0, 0, 0, 100},
                                             timing_jump_config{1, -1, 0, 0, 100},
                                             timing_jump_config{1, 0, 1e-6, 0, 100},
                                             phase_noise_config{-1},
                                             dc_offset_config{1, 0},
                                             dc_offset_config{-20, 361},
                                             iq_imbalance_config{2, 0},
                                             gain_step_config{61, 0, 0},
                                             quantiser_config{1, 0},
                                             quantiser_config{17, 0},
                                             quantiser_config{8.5, 0},
                                             gap_config{0, 0, 0},
                                             tone_config{11, 0},
                                             tone_config{0, 4e6},
                                             interference_config{0, 2e6, 1e6},
                                             interference_config{0, 0, 100}};
    for (std::size_t i = 0; i < bad.size(); ++i) {
        try {
            stage_chain({bad[i]}, context);
            ADD_FAILURE() << "accepted: " << i;
        } catch (const std::invalid_argument& e) {
            EXPECT_NE(std::string(e.what()).find("; valid: "), std::string::npos) << e.what();
        }
    }
}
