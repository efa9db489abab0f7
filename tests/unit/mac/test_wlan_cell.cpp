// SPDX-License-Identifier: GPL-3.0-or-later
// The 802.11b cell against what can be said about it on paper (docs/explanation/wlan.md).
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "packet/attempt_models.h"
#include "wlan_world.h"

namespace wip::wlan {
namespace {

using packet_model::attempt_config;
std::uint64_t sum(const std::vector<std::uint64_t>& v) {
    return std::accumulate(v.begin(), v.end(), std::uint64_t{0});
}

// The expected values by hand, in us: DIFS 50 + 15.5 slots of 20 + preamble 192 + 1536 bytes,
// rounded up to a whole us + SIFS 10 + ACK 304; before it RTS 352, CTS 304 and two SIFS. At 11
// Mbit/s 504.0 packets/s.
TEST(WlanCell, OneStationReachesTheAnalyticalThroughput) {
    for (const auto& [rate, alone, after_rts] : {std::tuple(1.0, 13154.0, 13830.0),
                                                 {2.0, 7010.0, 7686.0},
                                                 {5.5, 3101.0, 3777.0},
                                                 {11.0, 1984.0, 2660.0}})
        for (const int threshold : {2347, 0}) {
            const double us = threshold == 0 ? after_rts : alone;
            world w({.rate_mbps = rate, .rts_threshold = threshold});
            w.saturate(w.cell.uplink(), 0);
            w.run_until(60 * s);
            EXPECT_NEAR(static_cast<double>(w.up[0]), 60e6 / us, 0.005 * 60e6 / us)
                << rate << threshold;
            EXPECT_EQ((wlan_config{.rate_mbps = rate}.times().mean_turn(size, threshold == 0)),
                      1000 * us);
        }
}

// The expected values by hand, in us: DIFS 50 + 310 + 96 + 1118 + SIFS 10 + ACK 96 + 11; before it
// RTS 96 + 15, CTS 107, two SIFS. With the long preamble, control frames at 11 and 2 Mbit/s: 203
// and 248 for the ACK.
TEST(WlanCell, AShortPreambleAndFastControlFramesLeaveMoreToTheData) {
    for (const auto& [control, is_short, threshold, us] : {std::tuple(11.0, true, 2347, 1691.0),
                                                           {11.0, true, 0, 1929.0},
                                                           {11.0, false, 2347, 1883.0},
                                                           {2.0, false, 2347, 1928.0}}) {
        world w({.control_mbps = control, .short_preamble = is_short, .rts_threshold = threshold});
        w.saturate(w.cell.uplink(), 0);
        w.run_until(20 * s);
        EXPECT_NEAR(static_cast<double>(w.up[0]), 20e6 / us, 0.01 * 20e6 / us) << us;
    }
}

TEST(WlanCell, ABurstOfFailedAttemptsLosesAsManyFramesAsItHoldsRetryLimits) {
    struct row {
        int limit;
        std::array<int, 4> lost;
    };
    constexpr std::array bursts{5, 10, 20, 30};
    for (const auto& [limit, lost] : {row{4, {1, 2, 5, 7}}, row{7, {0, 1, 2, 4}}, row{50, {}}})
        for (std::size_t i = 0; i < bursts.size(); ++i) {
            attempt_config burst{.kind = attempt_config::model::burst, .burst = bursts[i]};
            world w({.retry_limit = limit}, [&](int from, int to) {
                return packet_model::make_attempt_errors(
                    burst, static_cast<std::uint32_t>(100 * from + to));
            });
            w.saturate(w.cell.uplink(), 0);
            while (w.cell.counts(1).attempts < 2000) w.run_until(w.now + ms);
            const auto whole = static_cast<double>(w.cell.counts(1).attempts / 100);
            EXPECT_NEAR(static_cast<double>(w.dropped(w.cell.uplink(), "wlan_retry_limit")),
                        whole * lost[i], lost[i])
                << "limit " << limit << ", burst " << bursts[i];
            EXPECT_EQ(lost[i], bursts[i] / limit);
        }
}

// Mean time that a frame takes longer when its first `burst` attempts fail.
double extra_ms(int burst, bool late_growth) {
    constexpr int frames = 600;
    double took[2];
    for (const bool with : {false, true}) {
        world w({.retry_limit = 50, .late_growth = late_growth},
                scripted_errors([&](int i) { return with && i % (burst + 1) < burst; }));
        w.saturate(w.cell.uplink(), 0);
        while (w.up[0] < frames) w.run_until(w.now + 20 * ms);
        took[with] = static_cast<double>(w.last_due) * 1e-6 / static_cast<double>(w.up[0]);
    }
    return took[1] - took[0];
}

TEST(WlanCell, ABurstDelaysAFrameByItsAttemptsAndBackoffs) {
    const wlan_config c;
    const double attempt =
        static_cast<double>(c.times().data(size) + c.times().ack_timeout() + dcf_times::difs) *
        1e-6;
    for (const int burst : {5, 10, 15, 20, 25, 30}) {
        double expected = 0;
        for (int i = 1; i <= burst; ++i)
            expected += attempt + 0.5 * std::min(1023, (32 << std::min(i, 5)) - 1) * 0.02;
        EXPECT_NEAR(extra_ms(burst, false), expected, 0.03 * expected) << burst;
    }
}

TEST(WlanCell, WithAWindowThatGrowsLateBurstsDelayAsInTheTable) {
    constexpr std::array<std::array<double, 2>, 6> table{
        {{5, 18}, {10, 78}, {15, 137}, {20, 196}, {25, 256}, {30, 315}}};
    for (const auto& [burst, delay] : table)
        EXPECT_NEAR(extra_ms(static_cast<int>(burst), true), delay, 0.1 * delay) << burst;
}

TEST(WlanCell, LimitsAreSevenAndFourByTheThreshold) {
    for (const auto& [threshold, limit] : {std::pair(2347, 7U), std::pair(1000, 4U)}) {
        world w({.rts_threshold = threshold}, scripted_errors([](int) { return true; }));
        w.cell.uplink().offer(std::vector<std::uint8_t>(size), 0, 0);
        w.run_until(10 * s);
        EXPECT_EQ(w.cell.counts(1).attempts, limit);
        EXPECT_EQ(w.dropped(w.cell.uplink(), "wlan_retry_limit"), 1U);
    }
}

// A cell of one station with a dynamic retry limit, whose channel loses the first `burst` of every
// 100 attempts.
struct dynamic_world {
    explicit dynamic_world(double patience_ms, int first = 0, bool late = false)
        : burst(first),
          w({.dynamic_limit = true, .patience_ms = patience_ms, .late_growth = late},
            scripted_errors([this](int i) { return i % 100 < burst; })) {
        w.saturate(w.cell.uplink(), 0);
    }
    // (retry limit in each good time, frames lost) after this number of further attempts.
    std::pair<int, std::uint64_t> after(std::uint64_t attempts) {
        const auto lost = w.dropped(w.cell.uplink(), "wlan_retry_limit");
        const auto until = w.cell.counts(1).attempts + attempts;
        while (w.cell.counts(1).attempts < until || w.cell.counts(1).attempts % 100 < 50)
            w.run_until(w.now + ms);
        return {w.cell.retry_limit(1), w.dropped(w.cell.uplink(), "wlan_retry_limit") - lost};
    }
    int burst;
    world w;
};

TEST(WlanCell, ADynamicLimitIsWhatTheBurstsOfTheChannelAskFor) {
    dynamic_world d(1000);
    EXPECT_EQ(d.after(100).first, retry_control::most);  // there are no counts yet
    // The limit grows at once to what a longer burst needs, and falls within tens of bursts.
    for (const auto& [burst, limit] : {std::pair(20, 21), {30, 31}, {10, 11}, {5, 7}}) {
        d.burst = burst;
        d.after(10000);
        EXPECT_EQ(d.after(1000), std::pair(limit, std::uint64_t{0})) << burst;
    }
    // The first burst that is longer than all others costs frames, the next ones do not.
    d.burst = 30;
    EXPECT_GT(d.after(100).second, 0U);
    EXPECT_EQ(d.after(1000).second, 0U);
}

TEST(WlanCell, ADynamicLimitGivesUpWhatTakesLongerThanItsPatience) {
    // Ten failed attempts take 88 ms, eleven 100 ms, twenty 207 ms.
    for (const auto& [patience, burst, limit] :
         {std::tuple(150.0, 10, 11), {150.0, 20, 16}, {90.0, 30, 11}, {1.0, 30, 7}}) {
        dynamic_world d(patience, burst);
        d.after(10000);
        const auto lost = static_cast<std::uint64_t>(burst / limit);
        EXPECT_EQ(d.after(1000), std::pair(limit, 10 * lost)) << patience << " ms, " << burst;
    }
    // Sixteen take 158 ms, or 148 with a window that grows late.
    dynamic_world late(150, 20, true);
    late.after(10000);
    EXPECT_EQ(late.after(1000).first, 17);
}

TEST(WlanCell, StationsShareTheChannelAlike) {
    double last = 0;
    for (const int n : {2, 5, 10}) {
        world w({.stations = n});
        for (int i = 0; i < n; ++i) w.saturate(w.cell.uplink(), i);
        w.run_until(60 * s);
        double squares = 0;
        for (const auto x : w.up) squares += static_cast<double>(x * x);
        const auto all = static_cast<double>(sum(w.up));
        EXPECT_GT(all * all / (n * squares), 0.99) << "Jain's index of " << n;
        std::uint64_t collisions = 0;
        for (int i = 1; i <= n; ++i) collisions += w.cell.counts(i).collisions;
        EXPECT_GT(static_cast<double>(collisions), last) << "more stations, more collisions";
        last = static_cast<double>(collisions);
    }
}

TEST(WlanCell, AStationThatHearsNothingTakesNoMoreThanItsShareAndLosesNothing) {
    constexpr int n = 4;
    for (const int limit : {0, 50}) {
        const auto run = [&](bool deaf) {
            auto w = std::make_unique<world>(
                wlan_config{.retry_limit = limit, .stations = n},
                [deaf](int, int to) -> std::unique_ptr<attempt_errors> {
                    if (to != 1 || !deaf) return nullptr;
                    return std::make_unique<scripted>([](int) { return true; });
                });
            for (int i = 0; i < n; ++i) w->saturate(w->cell.downlink(), i);
            w->run_until(60 * s);
            return w;
        };
        const auto fair = run(false), with = run(true);
        EXPECT_EQ(with->down[0], 0U);
        EXPECT_GT(with->cell.counts(0).put_back, 10U);
        for (std::size_t i = 1; i < n; ++i) {
            const auto share = static_cast<double>(fair->down[i]);
            EXPECT_NEAR(static_cast<double>(with->down[i]), share, 0.1 * share) << limit;
        }
        EXPECT_EQ(with->cell.queued(0).packets, 5U * n);
        for (const auto& d : with->cell.downlink().sums().dropped)
            EXPECT_EQ(d.count.packets, 0U) << d.reason;
    }
}

// A single attempt that fails takes less than a turn: what is over is not saved up.
TEST(WlanCell, AStationThatHearsNothingHasNoCreditFromAttemptsThatWereShort) {
    world w({.retry_limit = 1, .stations = 2}, [](int, int to) -> std::unique_ptr<attempt_errors> {
        if (to != 1) return nullptr;
        return std::make_unique<scripted>([](int) { return true; });
    });
    for (int i = 0; i < 2; ++i) w.saturate(w.cell.downlink(), i);
    w.run_until(100 * s);
    w.cell.reconfigure({.retry_limit = 50, .stations = 2});
    const auto before = w.down[1];
    w.run_until(104 * s);
    EXPECT_NEAR(static_cast<double>(w.down[1] - before), 2e6 / 1984, 0.35 * 2e6 / 1984);
}

// Senders of a small window: each has its next packet 5 ms after the last one has come, so often
// nobody waits. Three quarters of the air are theirs beside a fourth, whatever becomes of its
// frames.
TEST(WlanCell, AStationThatHearsNothingDoesNotTakeTheTimeInWhichOthersWaitForTheirAnswers) {
    constexpr int n = 4;
    // Packets of all but station 0, and attempts with those of station 0.
    const auto run = [](int first, int last) {
        world w({.retry_limit = 50, .stations = n},
                [](int, int to) -> std::unique_ptr<attempt_errors> {
                    if (to != 1) return nullptr;
                    return std::make_unique<scripted>([](int) { return true; });
                });
        std::array<std::int64_t, n> next{};
        std::array<std::uint64_t, n> came{};
        for (std::int64_t t = 0; t < 60 * s; t += ms) {
            w.run_until(t);
            for (auto i = static_cast<std::size_t>(first); i < static_cast<std::size_t>(last);
                 ++i) {
                if (std::exchange(came[i], w.down[i]) < w.down[i]) next[i] = t + 5 * ms;
                if (next[i] > t) continue;
                w.cell.downlink().offer(std::vector<std::uint8_t>(size), t, static_cast<int>(i));
                next[i] = packet_link::never;
            }
        }
        return std::pair(sum(w.down), w.cell.counts_to(0).attempts);
    };
    const auto share = 0.75 * static_cast<double>(run(1, n).first);
    const auto [others, attempts] = run(0, n);
    EXPECT_NEAR(static_cast<double>(others), share, 0.1 * share);
    EXPECT_GT(attempts, 1000U);
    // If no other node has frames there is no need to wait: 50 attempts take 0.6 s.
    EXPECT_GT(run(0, 1).second, 4000U);
}

TEST(WlanCell, HopsShareTheChannel) {
    double before = 0;
    for (int hops = 1; hops <= 4; ++hops) {
        world w({.hops = hops});
        w.saturate(w.cell.uplink(), 0, 2);
        w.run_until(60 * s);
        const auto rate = static_cast<double>(w.up[0]);
        if (hops > 1) {
            EXPECT_LT(rate, 0.8 * before) << hops << " hops";
        }
        before = rate;
        world back({.hops = hops});
        back.cell.downlink().offer(std::vector<std::uint8_t>(size), 0, 0);
        back.run_until(s);
        EXPECT_EQ(back.down[0], 1U);
        EXPECT_GE(back.last_due, hops * wlan_config{}.times().data(size));
    }
}

TEST(WlanCell, ErrorsOfAnEpisodeAreThereThenOnly) {
    using config = packet_model::attempt_config;
    const config always{.kind = config::model::burst, .burst = 100};
    for (const auto& [from, lasts, expected] :
         {std::tuple{0.0, 0.0, 10}, {4.0, 0.0, 6}, {4.0, 3.0, 3}, {0.0, 2.0, 2}}) {
        auto c = always;
        c.from_s = from, c.for_s = lasts;
        const auto errors = packet_model::make_attempt_errors(c, 1);
        int failed = 0;
        for (int second = 0; second < 10; ++second) failed += errors->fails(second * s);
        EXPECT_EQ(failed, expected) << from << " " << lasts;
    }
}

TEST(WlanCell, ModelsOfErrorsFailAsOftenAsTheySay) {
    using model = attempt_config::model;
    const auto share = [](const attempt_config& c, std::int64_t step) {
        const auto errors = packet_model::make_attempt_errors(c, 3);
        int failed = 0;
        for (int i = 0; i < 100'000; ++i) failed += errors->fails(i * step) ? 1 : 0;
        return failed / 100'000.0;
    };
    EXPECT_EQ(share({.kind = model::burst, .burst = 20}, 1), 0.2);
    EXPECT_NEAR(share({.kind = model::gilbert_elliott, .good_ms = 30, .bad_ms = 10}, ms), 0.25,
                0.02);
    // Rayleigh: 1 - exp(-needed/mean)
    EXPECT_NEAR(share({.kind = model::fading, .doppler_hz = 50}, 10 * ms), 1 - std::exp(-0.1),
                0.01);
    // A model that is set after ten hours does not live through all of them.
    const auto late = packet_model::make_attempt_errors(
        {.kind = model::gilbert_elliott, .good_ms = 0.001, .bad_ms = 0.001}, 3);
    int failed = 0;
    for (int i = 0; i < 10'000; ++i) failed += late->fails(36'000 * s + i * ms) ? 1 : 0;
    EXPECT_NEAR(failed, 5000, 200);
    EXPECT_EQ(packet_model::make_attempt_errors({}, 1), nullptr);
    EXPECT_THROW(packet_model::make_attempt_errors({.bad_loss = 1.5}, 1), std::invalid_argument);
}

// Packets a second, of 504.0 without errors, and the share of attempts that failed.
std::pair<double, double> with_errors(const attempt_config& c) {
    world w({.retry_limit = 50}, [&](int from, int to) {
        return packet_model::make_attempt_errors(c, static_cast<std::uint32_t>(100 * from + to));
    });
    w.saturate(w.cell.uplink(), 0);
    w.run_until(300 * s);
    const auto& n = w.cell.counts(1);
    return {static_cast<double>(w.up[0]) / 300,
            static_cast<double>(n.failed) / static_cast<double>(n.attempts)};
}

// Nothing passes while the channel is bad, and until the backoff that began meanwhile is over, at
// most some 10 ms.
TEST(WlanCell, InABadTimeNothingPasses) {
    using model = attempt_config::model;
    const auto [rate, failed] = with_errors({.kind = model::gilbert_elliott});  // 900, 100 ms
    EXPECT_GT(rate, (0.9 - 0.03) * 504.0);
    EXPECT_LT(rate, (0.9 + 0.02) * 504.0);
    EXPECT_GT(failed, 0.01);
    const auto half = with_errors({.kind = model::gilbert_elliott, .bad_loss = 0.5});
    EXPECT_GT(half.first, rate);
    // Rayleigh at 5 Hz: 1 - exp(-1/10) of the time 10 dB below the mean, in fades of 27 ms.
    const auto fading = with_errors({.kind = model::fading});
    EXPECT_GT(fading.first, (0.905 - 0.06) * 504.0);
    EXPECT_LT(fading.first, (0.905 + 0.01) * 504.0);
    EXPECT_LT(with_errors({.kind = model::fading, .snr_db = 10}).first, 0.4 * 504.0);
    EXPECT_LT(with_errors({.kind = model::fading, .snr_db = 60}).second, 1e-4);
}

TEST(WlanCell, WhatIsSetInARunningCellHoldsFromTheNextAttemptOn) {
    world w({}, scripted_errors([](int) { return true; }));
    std::uint64_t before = 0, at_station = 0;
    // Attempts with a packet up that never arrives.
    const auto attempts = [&](const wlan_config& c) {
        w.cell.reconfigure(c);
        w.cell.uplink().offer(std::vector<std::uint8_t>(size), w.now, 0);
        w.run_until(w.now + 5 * s);
        before = std::exchange(at_station, w.cell.counts(1).attempts);
        return at_station - before;
    };
    EXPECT_EQ(attempts({}), 7U);
    EXPECT_EQ(attempts({.retry_limit = 50}), 50U);
    EXPECT_EQ(attempts({.rts_threshold = 0}), 4U);
    EXPECT_EQ(attempts({.dynamic_limit = true, .patience_ms = 1}), 7U);
    EXPECT_EQ(w.dropped(w.cell.uplink(), "wlan_retry_limit"), 4U);
    w.cell.downlink().offer(std::vector<std::uint8_t>(size), w.now, 0);
    w.run_until(w.now + s);
    EXPECT_EQ(w.dropped(w.cell.downlink(), "wlan_retry_limit"), 0U);
    w.cell.reconfigure({.put_back = false});
    w.run_until(w.now + s);
    EXPECT_EQ(w.dropped(w.cell.downlink(), "wlan_retry_limit"), 1U);
    // Other errors: none. Then another rate.
    w.cell.replace({});
    w.saturate(w.cell.uplink(), 0);
    for (const auto& [rate, us] : {std::pair(11.0, 1984.0), {1.0, 13154.0}}) {
        w.cell.reconfigure({.rate_mbps = rate});
        w.run_until(w.now + s);
        const auto passed = w.up[0];
        w.run_until(w.now + 60 * s);
        EXPECT_NEAR(static_cast<double>(w.up[0] - passed), 60e6 / us, 0.01 * 60e6 / us) << rate;
    }
}

TEST(WlanCell, RefusesWhatItCannotBe) {
    const auto refused = [](const wlan_config& c, const std::string& key) {
        try {
            wlan_cell cell(c);
            ADD_FAILURE() << key;
        } catch (const std::invalid_argument& e) {
            EXPECT_NE(std::string(e.what()).find(key), std::string::npos) << e.what();
        }
    };
    refused({.rate_mbps = 54}, "rate_mbps");
    refused({.control_mbps = 3}, "control_rate_mbps");
    refused({.short_preamble = true}, "control_rate_mbps");
    refused({.rts_threshold = 3000}, "rts_threshold");
    refused({.retry_limit = 256}, "retry_limit");
    refused({.stations = 0}, "stations");
    refused({.hops = 5}, "hops");
    refused({.queue_packets = 0}, "queue_packets");
    wlan_cell cell({});
    EXPECT_THROW(cell.reconfigure({.stations = 2}), std::invalid_argument);
}

}  // namespace
}  // namespace wip::wlan
