// SPDX-License-Identifier: GPL-3.0-or-later
// The fader between radios that are arrays: what goes in comes out with the mixer's channel in it,
// to the sample at its time, whatever the packets; what is lost is zero and moves nothing.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <numbers>
#include <random>
#include <thread>

#include "array_radio.h"
#include "fader/fader.h"
#include "fader/known_burst.h"
#include "fader/station_soundings.h"
#include "types/grid.h"

using namespace wip;
using namespace wip::cabled;
using namespace wip::cabled::test;

namespace {

// Bins `step_db` above each other, that fade by 4 dB in ten slots.
sample_model::trace_config slope(float lowest_db, float step_db) {
    auto rows = std::make_shared<sample_model::trace_rows>(20);
    for (std::size_t t = 0; t < rows->size(); ++t)
        for (std::size_t b = 0; b < nof_bins; ++b)
            (*rows)[t][b] = lowest_db + static_cast<float>(b) * step_db +
                            2 * std::sin(std::numbers::pi_v<float> / 10 * static_cast<float>(t));
    return {rows, 22};
}

// The output of a mixer alone for the same samples.
std::vector<cf32> mixed(const fader_setup& s, const std::vector<cf32>& in) {
    received_samples source(std::size_t{1} << 20);
    source.begin(beginning);
    source.write(beginning, in);
    const received_samples none(2);
    const std::vector<const mix::sample_source*> sources{&source, &none};
    const std::vector<mix::node_tuning> tunings(2);
    mix::mixer m(s.mix);
    std::vector<cf32> out(in.size());
    m.hear(1, beginning, out, sources, tunings);
    return out;
}

struct Fader : testing::Test {
    void run(const fader_setup& s) {
        fader f(s, {&base, &terminal});
        base.at_end = [&f] { f.stop(); };
        f.run(beginning);
        status = f.status();
    }
    array_radio base{random_samples(10 * slot_samples, 1)}, terminal;
    fader_status status;
};

}  // namespace

TEST_F(Fader, sends_what_the_mixer_makes_exactly_the_delay_later) {
    const fader_setup s = one_way();
    run(s);
    EXPECT_TRUE(base.receives && !base.transmits);
    EXPECT_TRUE(terminal.transmits && !terminal.receives);
    ASSERT_EQ(terminal.sent.size(), base.in.size() + static_cast<std::size_t>(s.delay));
    const auto expected = mixed(s, base.in);
    for (tick i = 0; i < s.delay; ++i)
        ASSERT_EQ(terminal.sent[static_cast<std::size_t>(i)], cf32{}) << i;
    for (std::size_t i = 0; i < expected.size(); ++i)
        ASSERT_EQ(terminal.sent[i + static_cast<std::size_t>(s.delay)], expected[i]) << i;
    EXPECT_EQ(status.overflows + status.lost_samples + status.late + status.underflows, 0U);
}

TEST_F(Fader, begun_again_it_is_the_same) {
    run(one_way());
    const auto first = terminal.sent;
    base.at = 0;
    base.random.seed(8);  // random packet sizes of another seed
    terminal = array_radio();
    run(one_way(4000, 512));
    EXPECT_TRUE(std::equal(first.begin(), first.end(), terminal.sent.begin()));
}

TEST_F(Fader, what_a_receiver_loses_is_zero_and_what_follows_keeps_its_time) {
    const fader_setup s = one_way();
    for (const tick lost : {4, 1500, 4321, 9000, 30'000}) {
        // the last gaps are longer than the samples that are kept
        SCOPED_TRACE(lost);
        auto known = base.in;
        base.at = 0, base.lost_at = 12345, base.lost_for = lost;
        terminal.sent.clear();
        std::fill_n(known.begin() + 12345, lost, cf32{});
        run(s);
        EXPECT_EQ(status.overflows, 1U);
        EXPECT_EQ(status.gaps, 1U);
        EXPECT_EQ(status.lost_samples, static_cast<std::uint64_t>(lost));
        const auto expected = mixed(s, known);
        for (std::size_t i = 0; i < expected.size(); ++i)
            ASSERT_EQ(terminal.sent[i + static_cast<std::size_t>(s.delay)], expected[i]) << i;
    }
}

TEST_F(Fader, events_of_the_transmitter_are_counted) {
    terminal.happened = {.late = 2, .underflows = 3, .stalls = 4};
    run(one_way());
    EXPECT_EQ(status.late, 2U);
    EXPECT_EQ(status.underflows, 3U);
    EXPECT_EQ(status.stalls, 4U);
    EXPECT_TRUE(status.lost_something());
}

TEST_F(Fader, what_was_counted_since_is_the_difference_or_all_after_a_reset) {
    const fader_status before{.now = 5, .pieces = 10, .overflows = 1, .gaps = 1, .lost_samples = 7},
        now{.now = 9,
            .pieces = 14,
            .overflows = 1,
            .gaps = 3,
            .lost_samples = 10,
            .silences = 2,
            .late = 3,
            .underflows = 4,
            .stalls = 5,
            .clipped = 6};
    const fader_status s = now.since(before);
    EXPECT_EQ((std::array{s.pieces, s.overflows, s.gaps, s.lost_samples, s.silences, s.late,
                          s.underflows, s.stalls, s.clipped}),
              (std::array<std::uint64_t, 9>{4, 0, 2, 3, 2, 3, 4, 5, 6}));
    EXPECT_FALSE(now.since(now).lost_something());
    EXPECT_EQ(before.since(now).lost_samples, 7U);
}

TEST_F(Fader, a_receiver_that_is_silent_is_named_and_events_are_counted_meanwhile) {
    fader_setup s = one_way();
    std::vector<std::pair<std::size_t, bool>> reported;
    fader* running = nullptr;
    s.says = [&](std::size_t node, bool silent) {
        reported.emplace_back(node, silent);
        if (!silent) running->stop();
    };
    fader f(s, {&base, &terminal});
    running = &f;
    base.silent_at = 2 * slot_samples, base.nof_silent = 14;
    base.at_silence = [&] {
        if (base.nof_silent == 12) terminal.happened = {.late = 0, .underflows = 3};
        if (base.nof_silent == 10) {
            EXPECT_EQ(f.status().underflows, 3U);
        }
    };
    f.run(beginning);
    const std::vector<std::pair<std::size_t, bool>> once{{0, true}, {0, false}};
    EXPECT_EQ(reported, once);
    EXPECT_EQ(f.status().silences, 1U);
    EXPECT_EQ(f.status().gaps, 1U);
    EXPECT_EQ(f.status().lost_samples, static_cast<std::uint64_t>(14 * array_radio::wait));
}

TEST_F(Fader, a_clock_that_stands_still_is_no_silence) {
    base.silent_at = 2 * slot_samples, base.nof_silent = 50;
    base.clock_goes_on = false;
    run(one_way());
    EXPECT_FALSE(status.lost_something());
    EXPECT_GT(status.pieces, 30U);
}

TEST_F(Fader, counts_what_it_sends_at_full_scale) {
    fader_setup s = one_way();
    s.mix.paths[0].gain_db = 40;
    run(s);
    EXPECT_GT(status.clipped, 1000U);
    for (const cf32 v : terminal.sent) ASSERT_LE(std::abs(v.real()), 1);
}

TEST_F(Fader, a_run_begins_with_a_sounding_that_finds_the_taps_that_are_commanded) {
    for (const std::string kind : {"two taps", "one tap", "nothing", "trace"}) {
        fader_setup s = one_way();
        s.sounds = true;
        s.mix.nodes[1].noise_dbfs = -60;
        auto& channel = *s.mix.paths[0].channel;
        if (kind == "one tap") channel.profile.taps.pop_back();
        if (kind == "nothing" || kind == "trace") s.mix.paths[0].channel.reset();
        if (kind == "trace") s.mix.paths[0].trace = slope(16, 0.25f);
        base = array_radio{random_samples(10 * slot_samples, 1)};
        terminal = array_radio();
        fader f(s, {&base, &terminal});
        base.at_end = [&f] { f.stop(); };
        f.run(beginning);
        const auto found = f.soundings();
        ASSERT_TRUE(found && found->size() == 1) << kind;
        EXPECT_TRUE((*found)[0].evaluated) << (*found)[0].why_not;
        EXPECT_LT((*found)[0].residual_db, -35) << kind;
        EXPECT_LT((*found)[0].residual_db, (*found)[0].limit_db) << kind;
        // After the measurement the station's samples go through, in their time.
        const fader_moment now = f.moment();
        const auto& taps = now.taps[0];
        EXPECT_EQ(taps.size(), kind == "two taps" ? 2U : kind == "trace" ? 32U : 1U);
        EXPECT_NEAR(taps[0].delay_samples, 9, 1e-9);
        EXPECT_NEAR(10 * std::log10(now.power.input[0]), -17, 0.5);  // 2 x 0.1^2
        std::vector<cf32> known = base.in;
        sounding same(s.mix, beginning, mix::mixer(s.mix).max_delay());
        same.replace(0, beginning, known);
        const auto expected = mixed(s, known);
        for (std::size_t i = 0; i < expected.size(); ++i)
            ASSERT_EQ(terminal.sent[i + static_cast<std::size_t>(s.delay)], expected[i]) << i;
    }
}

TEST(Sounding, sees_what_is_not_as_commanded) {
    // The residual of a fader that does `done` where `said` is commanded.
    const auto residual = [](const fader_setup& reported, const fader_setup& done) {
        mix::mixer commanded(reported.mix);
        sounding s(reported.mix, beginning, commanded.max_delay());
        std::vector<cf32> x(3 * slot_samples);
        s.replace(0, beginning, x);
        const auto y = mixed(done, x);
        for (std::size_t i = 0; i < y.size(); i += 1000)
            s.heard(1, beginning + static_cast<tick>(i),
                    std::span(y).subspan(i, std::min<std::size_t>(1000, y.size() - i)), commanded);
        const auto r = s.results();
        return r ? r->at(0) : sounding_result{.why_not = "not complete"};
    };
    const fader_setup reported = one_way();
    auto right = residual(reported, reported);
    EXPECT_TRUE(right.evaluated) << right.why_not;
    EXPECT_LT(right.residual_db, right.limit_db);
    for (const auto& spoil : std::vector<std::function<void(fader_setup&)>>{
             [](fader_setup& s) { s.mix.paths[0].gain_db += 1; },
             [](fader_setup& s) { s.mix.paths[0].delay_samples += 1; },
             [](fader_setup& s) { s.mix.seed = 6; },
             [](fader_setup& s) { s.mix.paths[0].channel->profile.taps.pop_back(); },
             [](fader_setup& s) {
                 s.mix.paths[0].channel->movement.path = sample_model::constant_speed{300};
             }}) {
        fader_setup done = reported;
        spoil(done);
        const auto wrong = residual(reported, done);
        EXPECT_TRUE(wrong.evaluated) << wrong.why_not;
        EXPECT_GT(wrong.residual_db, wrong.limit_db);
    }
    fader_setup traced = reported, other = reported;
    traced.mix.paths[0].channel.reset(), other.mix.paths[0].channel.reset();
    traced.mix.paths[0].trace = slope(16, 0.25f), other.mix.paths[0].trace = slope(16, 0.5f);
    right = residual(traced, traced);
    EXPECT_TRUE(right.evaluated) << right.why_not;
    EXPECT_LT(right.residual_db, right.limit_db);
    EXPECT_GT(residual(traced, other).residual_db, right.limit_db);
    fader_setup dark = reported;
    dark.mix.nodes[1].noise_dbfs = 0;
    EXPECT_EQ(residual(dark, dark).why_not, "the channel is below its noise");
    dark.mix.paths[0].impairments = {sample_model::cfo_config{}};
    EXPECT_EQ(residual(dark, dark).why_not, "impairments of a path");
}

// A base station's bursts at some level and carrier, as a fader with `done` passes them and a
// terminal with noise hears them, against what a fader with `said` commands.
struct through {
    std::size_t nof_commanded = 0, nof_heard = 0;
    // residual of all bursts; mean difference of their times in the fader's clock
    double residual_db = 0, shift = 0;
};
std::vector<cf32> start_of_a_station() {
    std::vector<cf32> x(known_burst::nof_slots * std::size_t{slot_samples} + 4 * slot_samples);
    for (const int slot : known_burst::slots)
        for (tick n = 0; n < known_burst::size; ++n)
            x[static_cast<std::size_t>((slot + 2) * slot_samples + 77 + n)] =
                0.5F * known_burst::sample(n);
    return x;
}
through bursts_through(const fader_setup& reported, const fader_setup& done,
                       double noise_dbfs = -50) {
    std::vector<cf32> x = start_of_a_station();
    const auto carrier = [](std::vector<cf32>& v, double cycles) {
        for (std::size_t i = 0; i < v.size(); ++i)
            v[i] *= cf32(std::polar(1.0, 2 * std::numbers::pi * cycles * static_cast<double>(i)));
    };
    carrier(x, 3e-4);  // 2.3 kHz
    mix::mixer commanded(reported.mix);
    station_soundings bursts(reported.mix);
    for (std::size_t i = 0; i < x.size(); i += 777)
        bursts.received(0, beginning + static_cast<tick>(i),
                        std::span(x).subspan(i, std::min<std::size_t>(777, x.size() - i)),
                        commanded);
    auto y = mixed(done, x);
    carrier(y, -7e-4);
    const auto noise = random_samples(y.size(), 3);
    const auto weight = static_cast<float>(std::pow(10, (noise_dbfs + 17) / 20));
    for (std::size_t i = 0; i < y.size(); ++i) y[i] += weight * noise[i];
    std::vector<burst_response> heard;
    burst_listener terminal;
    through found;
    for (std::size_t i = 0; i < y.size(); i += 5120)
        terminal.take(1 + static_cast<tick>(i),
                      std::span(y).subspan(i, std::min<std::size_t>(5120, y.size() - i)),
                      [&](const heard_burst& b) {
                          found.shift += static_cast<double>(b.centre) / 8;
                          heard.push_back(response_of(b));
                      });
    found.nof_heard = heard.size();
    const auto passed = bursts.heard();
    found.nof_commanded = passed.size();
    if (found.nof_heard != 8 || found.nof_commanded != 8) return found;
    double power = 0, error = 0;
    for (std::size_t i = 0; i < 8; ++i) {
        const auto& c = passed[i].commanded.values;
        found.shift -= static_cast<double>(passed[i].centre - beginning - 1) / 8;
        std::complex<double> like{}, turn{};
        for (double t = -0.3; t < 0.3; t += 0.005) {
            // phase step in rad that compensates the rest of the delay
            std::complex<double> sum{};
            for (std::size_t k = 0; k < c.size(); ++k)
                sum += heard[i].values[k] * std::conj(c[k]) *
                       std::polar(1.0, -t * static_cast<double>(k));
            if (std::abs(sum) > std::abs(like)) like = sum, turn = {0, t};
        }
        for (std::size_t k = 0; k < c.size(); ++k) {
            const auto wanted = 0.5 * c[k] * std::exp(turn * static_cast<double>(k)) *
                                std::polar(1.0, std::arg(like));
            power += std::norm(wanted);
            error += std::norm(heard[i].values[k] - wanted);
        }
    }
    found.residual_db = 10 * std::log10(error / power);
    return found;
}

TEST(StationSoundings, what_a_terminal_hears_of_a_stations_bursts_is_what_the_fader_commanded) {
    const fader_setup reported = one_way();
    const through right = bursts_through(reported, reported);
    EXPECT_EQ(right.nof_heard, 8U);
    EXPECT_EQ(right.nof_commanded, 8U);
    EXPECT_NEAR(right.shift, 12, 40);  // 9 samples, and the channel's own
    EXPECT_LT(right.residual_db, -28);
    for (const auto& spoil : std::vector<std::function<void(fader_setup&)>>{
             [](fader_setup& s) { s.mix.seed = 6; },
             [](fader_setup& s) { s.mix.paths[0].gain_db += 1; },
             [](fader_setup& s) { s.mix.paths[0].channel->profile.taps.pop_back(); },
             [](fader_setup& s) { s.mix.paths[0].channel->profile.taps[1].delay_s += 2e-7; }}) {
        fader_setup done = reported;
        spoil(done);
        const through wrong = bursts_through(reported, done);
        EXPECT_EQ(wrong.nof_commanded, 8U);
        if (wrong.nof_heard == 8) {
            EXPECT_GT(wrong.residual_db, -25);
        }
    }
}

TEST(StationSoundings, of_a_fader_that_outlives_many_starts_of_a_station_the_last_four_are_kept) {
    const fader_setup reported = one_way();
    mix::mixer commanded(reported.mix);
    station_soundings bursts(reported.mix);
    const auto x = start_of_a_station();
    const tick spacing = 2 * static_cast<tick>(x.size());
    for (tick start = 0; start < 6; ++start) bursts.received(0, start * spacing, x, commanded);
    const auto kept = bursts.heard();
    ASSERT_EQ(kept.size(), 32U);
    for (std::size_t i = 0; i < kept.size(); ++i)
        EXPECT_EQ(kept[i].centre / spacing, static_cast<tick>(2 + i / 8));
}

TEST(StationSoundings, the_starts_of_one_station_leave_those_of_another) {
    fader_setup reported = one_way();
    reported.mix.paths.push_back(reported.mix.paths[0]);
    std::swap(reported.mix.paths[1].from, reported.mix.paths[1].to);
    mix::mixer commanded(reported.mix);
    station_soundings bursts(reported.mix);
    const auto x = start_of_a_station();
    const tick spacing = 2 * static_cast<tick>(x.size());
    bursts.received(1, 0, x, commanded);
    for (tick start = 1; start < 9; ++start) bursts.received(0, start * spacing, x, commanded);
    const auto kept = bursts.heard();
    ASSERT_EQ(kept.size(), 40U);
    for (std::size_t i = 0; i < kept.size(); ++i) {
        EXPECT_EQ(kept[i].from, i < 8 ? 1U : 0U) << i;
        EXPECT_EQ(kept[i].centre / spacing, static_cast<tick>(i < 8 ? 0 : 4 + i / 8)) << i;
    }
}

TEST(StationSoundings, nothing_else_is_taken_for_a_burst) {
    const auto other = random_samples(512, 6);
    for (const char* kind : {"noise", "tone", "silence", "another burst"}) {
        std::vector<cf32> x = random_samples(40 * slot_samples, 4);
        for (std::size_t i = 0; std::string(kind) != "noise" && i < x.size(); ++i)
            x[i] =
                std::string(kind) == "tone" && i > 60000 && i < 63072 ? cf32(0.3F, 0.1F) : cf32{};
        for (std::size_t i = 0; std::string(kind) == "another burst" && i < 3072; ++i)
            x[60000 + i] = other[i % 512];
        burst_listener l;
        l.take(0, x, [&](const heard_burst& b) { ADD_FAILURE() << kind << " at " << b.centre; });
    }
}

TEST(StationSoundings, a_burst_is_heard_after_what_is_loud_or_no_number) {
    constexpr float infinite = std::numeric_limits<float>::infinity();
    for (const cf32 before : {cf32(NAN, 0), cf32(0, infinite), cf32(1e15F, 1e15F), cf32(1, 1)}) {
        std::vector<cf32> x = random_samples(20 * slot_samples, 4);
        for (cf32& v : x) v *= 0.003F;
        std::fill_n(x.begin() + 20'000, 700, before);
        for (tick i = 0; i < 3072; ++i)
            x[static_cast<std::size_t>(60'000 + i)] += 0.01F * known_burst::sample(i);
        std::vector<tick> centres;
        burst_listener l;
        l.take(0, x, [&](const heard_burst& b) { centres.push_back(b.centre); });
        ASSERT_EQ(centres.size(), 1U) << before;
        EXPECT_NEAR(static_cast<double>(centres[0]), 61'536, 256);
    }
}

TEST_F(Fader, a_delay_shorter_than_two_pieces_is_refused) {
    EXPECT_THROW(fader(one_way(2559), {&base, &terminal}), std::invalid_argument);
}

TEST_F(Fader, the_channel_changes_at_the_border_of_a_slot_that_is_not_mixed_yet) {
    fader_setup s = one_way();
    fader f(s, {&base, &terminal});
    std::optional<tick> from;
    std::thread asks;
    base.at_end = [&f] { f.stop(); };
    mix::mixer_changes asked(1);
    mix::mixer_change& dark = asked[0];
    dark.dark = mix::mixer_change::blackout{300, never};
    dark.noise_dbfs = -300;
    asks = std::thread([&] { from = f.change(std::move(asked)); });
    while (!f.change_waits()) std::this_thread::yield();
    f.run(beginning);
    asks.join();
    ASSERT_TRUE(from);
    EXPECT_EQ(*from % slot_samples, 0);
    const std::size_t first = static_cast<std::size_t>(*from - beginning + s.delay);
    ASSERT_LT(first, terminal.sent.size());
    EXPECT_GT(std::abs(terminal.sent[first - 1]), 1e-6);
    for (std::size_t i = first; i < terminal.sent.size(); ++i)
        ASSERT_LT(std::abs(terminal.sent[i]), 1e-6) << i;
}
