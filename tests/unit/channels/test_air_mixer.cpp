// SPDX-License-Identifier: GPL-3.0-or-later
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <span>
#include <vector>

#include "mix/mixer.h"
#include "mix/tuning.h"
#include "types/db.h"

using namespace wip::mix;

namespace {

wip::sample_model::channel_config channel_of(const wip::sample_model::delay_profile& profile,
                                             double doppler_hz) {
    return {.profile = profile,
            .movement = {.path = wip::sample_model::constant_speed{doppler_hz}},
            .large_scale = {}};
}

// `value` in [start, end), nothing else.
struct constant_burst final : sample_source {
    tick start = 0, end = 0;
    cf32 value{};

    bool active() const noexcept override { return start < end; }
    bool read(tick from, std::span<cf32> out) const noexcept override {
        bool any = false;
        for (cf32& s : out) {
            const bool sent = from >= start && from < end;
            s = sent ? value : cf32{};
            any = any || sent;
            ++from;
        }
        return any;
    }
};

// One transmitter, one receiver.
struct AirMixer : testing::Test {
    AirMixer() {
        config.nodes = {{"base", {}}, {"terminal", {}}};
        config.paths = {{0, 1}};
        base.end = 60000;
        base.value = {0.5f, 0.25f};
    }
    std::vector<cf32> hear(mixer& m, tick at, std::size_t n) {
        std::vector<cf32> y(n);
        m.hear(1, at, y, transmitters, tunings);
        return y;
    }
    mix_config config;
    constant_burst base, terminal;
    std::vector<const sample_source*> transmitters{&base, &terminal};
    std::vector<node_tuning> tunings{2};
};

}  // namespace

TEST_F(AirMixer, without_impairments_passes_every_bit) {
    mixer m(config);
    EXPECT_EQ(hear(m, 100, 20000), std::vector<cf32>(20000, cf32(0.5f, 0.25f)));
}

TEST_F(AirMixer, gives_the_same_samples_however_time_is_cut_and_when_it_goes_back) {
    config.nodes[1].noise_dbfs = -30;
    config.paths[0].channel = channel_of({"one", {{0, 0}}}, 50);
    config.paths[0].delay_samples = 33;
    config.paths[0].frequency_shift_hz = 1234.5;
    mixer m(config);
    tunings[0].transmit_gain.set(7777, -3);
    tunings[1].receive_gain.set(8888, 3);
    tunings[1].receive_frequency.set(9999, default_frequency - 5000);
    const auto whole = hear(m, 0, 30000);
    std::vector<cf32> cut;
    for (tick t = 0, n = 1; t < 30000; t += n, n = std::min<tick>(1 + t % 997, 30000 - t)) {
        const auto part = hear(m, t, static_cast<std::size_t>(n));
        cut.insert(cut.end(), part.begin(), part.end());
    }
    EXPECT_EQ(whole, cut);
    const auto again = hear(m, 10000, 100);
    EXPECT_TRUE(std::equal(again.begin(), again.end(), whole.begin() + 10000));
}

TEST_F(AirMixer, multipath_and_impairments_are_the_same_however_time_is_cut_and_when_it_goes_back) {
    using namespace wip::sample_model;
    config.nodes[1].noise_dbfs = -30;
    config.nodes[1].impairments = {tone_config{-40, 1e6}, clock_offset_config{-100},
                                   cfo_config{3000, 0}, quantiser_config{12, 0}};
    config.paths[0].channel = channel_of({"two", {{0, 0}, {2e-6, -3}}}, 100);
    config.paths[0].channel->large_scale = {.shadowing = shadowing_config{},
                                            .blackouts = {{0.002, 0.0005, 0, 6}}};
    config.paths[0].delay_samples = 33;
    config.paths[0].impairments = {timing_jump_config{7, 0.001, 0.001, 0, 100}};
    mixer m(config);
    tunings[0].transmit_gain.set(7777, -3);
    tunings[1].receive_gain.set(8888, 3);
    tunings[1].receive_frequency.set(9999, default_frequency - 5000);
    const auto whole = hear(m, 0, 30000);
    std::vector<cf32> cut;
    for (tick t = 0, n = 1; t < 30000; t += n, n = std::min<tick>(1 + t % 997, 30000 - t)) {
        const auto part = hear(m, t, static_cast<std::size_t>(n));
        cut.insert(cut.end(), part.begin(), part.end());
    }
    EXPECT_EQ(whole, cut);
    const auto again = hear(m, 10000, 100);
    EXPECT_TRUE(std::equal(again.begin(), again.end(), whole.begin() + 10000));
    EXPECT_GE(m.max_delay(), 256 + 33 + 100);
}

TEST_F(AirMixer, the_latency_of_filters_is_taken_from_the_delay_of_the_path) {
    using namespace wip::sample_model;
    // Two taps in one place: one alone would need no filter.
    config.paths[0].channel = channel_of(
        {"one", {{0, 0, tap_fading::constant, 0}, {1e-12, -60, tap_fading::constant, 0}}}, 0);
    const auto first_sound = [&](std::int64_t delay) {
        config.paths[0].delay_samples = delay;
        mixer m(config);
        const auto y = hear(m, 0, 200);
        return std::find_if(y.begin(), y.end(), [](cf32 s) { return std::abs(s) > 0.3f; }) -
               y.begin();
    };
    EXPECT_EQ(first_sound(100), 100);
    EXPECT_EQ(first_sound(6), 6);
    EXPECT_EQ(first_sound(0), 6);
}

TEST_F(AirMixer, noise_has_the_level_of_the_configuration_and_no_path_is_needed) {
    config.nodes[1].noise_dbfs = -20;
    config.paths.clear();
    mixer m(config);
    double sum = 0;
    for (const cf32 s : hear(m, 0, 100000)) sum += std::norm(s);
    EXPECT_NEAR(sum / 100000, 0.01, 5 * 0.01 / std::sqrt(100000));
}

TEST_F(AirMixer, two_transmitters_on_one_frequency_add_up) {
    config.paths.push_back({1, 1});
    terminal.start = 50;
    terminal.end = 60;
    terminal.value = {0.125f, 0};
    mixer m(config);
    const auto y = hear(m, 0, 100);
    EXPECT_EQ(y[49], cf32(0.5f, 0.25f));
    EXPECT_EQ(y[50], cf32(0.625f, 0.25f));
    EXPECT_EQ(y[60], cf32(0.5f, 0.25f));
}

TEST_F(AirMixer, hears_up_to_the_hearing_distance_and_no_further) {
    mixer m(config);
    tunings[0].transmit_frequency.set(0, default_frequency + config.hearing_hz);
    EXPECT_NE(hear(m, 0, 10)[5], cf32{});
    tunings[0].transmit_frequency.set(0, default_frequency + config.hearing_hz + 1);
    EXPECT_EQ(hear(m, 0, 10), std::vector<cf32>(10));
}

TEST(AirTuning, holds_each_value_from_its_sample_on) {
    tuning t(1);
    t.set(100, 2);
    t.set(50, 3);
    t.set(100, 4);  // replaces the tap
    EXPECT_EQ(t.at(49), 1);
    EXPECT_EQ(t.at(50), 3);
    EXPECT_EQ(t.at(99), 3);
    EXPECT_EQ(t.at(100), 4);
    EXPECT_EQ(t.next_change(0), 50);
    EXPECT_EQ(t.next_change(50), 100);
    EXPECT_EQ(t.next_change(100), never);
    t.forget_before(75);
    EXPECT_EQ(t.at(80), 3);
    EXPECT_EQ(t.at(100), 4);
}

TEST_F(AirMixer, a_blackout_is_silence_between_its_samples_and_a_train_turns_the_signal) {
    using namespace wip::sample_model;
    config.paths[0].channel = channel_of({"c", {{0, 0, tap_fading::constant, 0}}}, 0);
    config.paths[0].channel->large_scale.blackouts = {{0.001, 0.001, 0, 40}};
    mixer m(config);
    const auto y = hear(m, 0, 30000);
    for (const auto& [at, level] :
         {std::pair{7679, 1.0}, {7680, 0.01}, {15359, 0.01}, {15360, 1.0}})
        EXPECT_NEAR(std::abs(y[static_cast<std::size_t>(at)]), level * std::abs(cf32(0.5f, 0.25f)),
                    1e-5)
            << at;
    config.paths[0].channel =
        channel_config{.profile = {"t", {{0, 0, tap_fading::line_of_sight, 0}}},
                       .movement = {.path = passing_train{1340, 100, 1000, 50}},
                       .large_scale = {}};
    mixer train(config);
    const auto z = hear(train, 0, 30000);
    const motion movement(config.paths[0].channel->movement, sample_rate);
    const double turned = std::arg(z[20000] * std::conj(z[19000])) / 2 / 3.14159265358979;
    EXPECT_NEAR(turned, movement.direct_turns(20000) - movement.direct_turns(19000), 1e-4);
}

TEST_F(AirMixer, paths_of_one_user_fade_alike_and_others_do_not) {
    config.paths[0].channel = channel_of({"one", {{0, 0}}}, 50);
    std::vector<std::vector<cf32>> heard;
    for (const std::uint32_t user : {3u, 3u, 4u}) {
        config.paths[0].user = user;
        mixer m(config);
        heard.push_back(hear(m, 0, 100));
    }
    EXPECT_EQ(heard[0], heard[1]);
    EXPECT_NE(heard[0], heard[2]);
}

// Far into a run: sample n of a receiver with its own clock is the signal at n - d(n) - 7.
TEST_F(AirMixer, a_receiver_with_its_own_clock_drifts_for_an_hour_and_goes_on) {
    using namespace wip::sample_model;
    constexpr double hz = 1e5;
    for (const double ppm : {10.0, -10.0, 100.0}) {
        config.paths.clear();
        // A tone before the clock: its phase says which moment a sample was taken at.
        config.nodes[1].impairments = {tone_config{-6, hz}, clock_offset_config{ppm}};
        mixer m(config);
        const tick hour = 3600LL * 7680000;
        const double own = static_cast<double>(hour) / (1 - ppm * 1e-6);
        EXPECT_NEAR(static_cast<double>(m.node_time(1, hour)), own, 3) << ppm;
        cfo turn({.hz = hz}, {});
        for (const tick at : {tick{1000000}, hour / 7, hour, 10 * hour}) {
            const auto y = hear(m, at, 2000);
            const double phase = std::arg(y[1000]) / 2 / 3.14159265358979;
            const double n = static_cast<double>(at + 1000);
            // Turns of the tone at n - d - 7, exactly: the whole part from integers.
            const double whole = static_cast<double>(turn.phase(at + 1000 - 7)) * 0x1p-64;
            const double moved = hz / sample_rate * n * ppm * 1e-6;
            EXPECT_NEAR(std::remainder(phase - whole + moved, 1), 0, 2e-4)
                << ppm << " ppm at " << at;
        }
    }
}

TEST_F(AirMixer, a_new_channel_fades_in_as_the_sine_while_the_old_one_fades_out_as_the_cosine) {
    mixer m(config);
    path_config other = config.paths[0];
    other.gain_db = -6;
    const float gain = static_cast<float>(wip::db(-6).amplitude());
    constexpr tick at = 10240;
    m.replace(0, 1, mixer::prepare(other, 0, config.seed), at);
    EXPECT_EQ(m.settled(0, 1), at + mixer::fade_samples);
    const auto y = hear(m, 0, 50000);
    for (tick n = 0; n < 50000; n += 7) {
        const double phase = n < at ? 0
                                    : std::numbers::pi / 2 * (static_cast<double>(n - at) + 0.5) /
                                          double{mixer::fade_samples};
        const double w = std::cos(phase) + static_cast<double>(gain) * std::sin(phase);
        EXPECT_NEAR(y[static_cast<std::size_t>(n)].real(), 0.5 * w, 1e-5) << n;
    }
}

TEST_F(AirMixer, a_channel_that_differs_in_its_level_only_fades_on_a_straight_line) {
    mixer m(config);
    path_config other = config.paths[0];
    other.gain_db = -20;
    m.replace(0, 1, mixer::prepare(other, 0, config.seed), 5120, true);
    const auto y = hear(m, 0, 50000);
    for (tick n = 5120; n < 50000; n += 13) {
        const double x = (static_cast<double>(n - 5120) + 0.5) / double{mixer::fade_samples};
        EXPECT_NEAR(y[static_cast<std::size_t>(n)].real(), 0.5 * (1 - x + 0.1 * x), 1e-5) << n;
    }
}

TEST_F(AirMixer, a_change_is_the_same_however_time_is_cut_and_when_it_goes_back) {
    config.nodes[1].noise_dbfs = -30;
    config.paths[0].delay_samples = 6;
    path_config other = config.paths[0];
    other.channel = channel_of({"two", {{0, 0}, {400e-9, -3}}}, 80);
    const auto make = [&] {
        auto m = std::make_unique<mixer>(config);
        m->replace(0, 1, mixer::prepare(other, 0, config.seed), 15360);
        m->set_noise(1, wip::dbfs(-10), 15360);
        m->set_blackout(1, wip::db(100), 30720, 40960);
        return m;
    };
    const auto whole = make();
    const auto expected = hear(*whole, 0, 50000);
    const auto cut = make();
    for (tick n = 0; n < 50000;) {
        const tick size = std::min<tick>(1 + (n * 7919) % 1777, 50000 - n);
        const auto part = hear(*cut, n, static_cast<std::size_t>(size));
        ASSERT_TRUE(std::equal(part.begin(), part.end(), expected.begin() + n)) << n;
        n += size;
    }
    const auto again = hear(*cut, 12000, 20000);
    EXPECT_TRUE(std::equal(again.begin(), again.end(), expected.begin() + 12000));
}

TEST_F(AirMixer, noise_and_blackout_change_at_once_and_a_blackout_ends_by_itself) {
    config.nodes[1].noise_dbfs = -200;
    mixer m(config);
    m.set_noise(1, wip::dbfs(-20), 10240);
    m.set_blackout(1, wip::db(100), 20480, 25600);
    const auto power = [&](tick from, tick to, cf32 mean) {
        double sum = 0;
        for (const cf32& v : hear(m, from, static_cast<std::size_t>(to - from)))
            sum += std::norm(v - mean);
        return sum / static_cast<double>(to - from);
    };
    const cf32 signal(0.5f, 0.25f);
    EXPECT_LT(power(0, 10240, signal), 1e-12);
    EXPECT_NEAR(power(10240, 20480, signal), 0.01, 0.0005);
    EXPECT_NEAR(power(20480, 25600, {}), 0.01, 0.0008);  // noise alone
    EXPECT_NEAR(power(25600, 40000, signal), 0.01, 0.0005);
    m.set_blackout(1, wip::db(100), 30720, never);
    EXPECT_NEAR(power(30720, 40000, {}), 0.01, 0.0005);
    m.forget_before(35000);
    EXPECT_NEAR(power(35000, 40000, {}), 0.01, 0.0008);
}
