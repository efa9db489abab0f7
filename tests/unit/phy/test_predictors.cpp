// SPDX-License-Identifier: GPL-3.0-or-later
// The predictors alone, on gains of a simulated channel (simulated_gains.h). The truth is known
// here, so NMSE and bias are against the SNR without noise.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "phy/prediction/predictor_succession.h"
#include "phy/receiver/slot_receiver.h"
#include "simulated_gains.h"

namespace {

using namespace wip;
using namespace wip::phy;
using namespace wip::phy::test;

constexpr double per_kmh = 125.0 / 75;  // Hz at 1.8 GHz

struct run_config {
    std::string_view method = default_predictor;
    int horizon = 3;
    unsigned seed = 1;
    spectrum kind = spectrum::clarke;
    double offset_hz = 0;
    int skip_every = 0;
    double shadowing_db = 0;
    int gap_from = 0, gap_slots = 0;  // consecutive slots that are missing
};

// Shadowing as the channel models make it (large_scale.h), 2 m at 75 km/h: an AR(1) process whose
// steps are 5.4 slots apart, straight between them.
class shadowing {
public:
    shadowing(double deviation_db, unsigned seed) : deviation_(deviation_db), random_(seed) {
        right_ = normal_(random_);
    }
    double next() {
        if ((place_ += 0.1845) >= 1) {
            place_ -= 1;
            left_ = right_;
            right_ = pole * left_ + std::sqrt(1 - pole * pole) * normal_(random_);
        }
        return deviation_ * (left_ + place_ * (right_ - left_));
    }

private:
    static constexpr double pole = 0.963;
    double deviation_, left_ = 0, right_ = 0, place_ = 1;
    std::mt19937 random_;
    std::normal_distribution<> normal_;
};

struct score {
    double error = 0, power = 0, predicted = 0, real = 0;
    double nmse() const { return error / power; }
    double bias_db() const { return 10 * std::log10(predicted / real); }
};

// Speeds: kmh(slot). Scores slots from..to.
template <class Speed>
score run(const run_config& c, Speed kmh, int from, int to) {
    snr_predictor predictor(c.horizon, c.method);
    gains channel(c.seed, c.kind);
    shadowing level(c.shadowing_db, c.seed);
    std::vector<std::array<float, nof_bins>> reported(static_cast<std::size_t>(to));
    score s;
    for (int i = 0; i < to; ++i) {
        const auto m = channel.next(kmh(i) * per_kmh, c.offset_hz, level.next());
        if (i >= from)
            for (std::size_t b = 0; b < nof_bins; ++b) {
                const double p = static_cast<double>(reported[static_cast<std::size_t>(i)][b]);
                s.error += (channel.truth[b] - p) * (channel.truth[b] - p);
                s.power += channel.truth[b] * channel.truth[b];
                s.predicted += p;
                s.real += channel.truth[b];
            }
        std::array<float, nof_bins> ahead{};
        const bool missing = i >= c.gap_from && i < c.gap_from + c.gap_slots;
        if (missing || (c.skip_every > 0 && i % c.skip_every == 0)) {
            predictor.skip();
            ahead.fill(1 / noise_variance);  // without a prediction: the mean
        } else {
            predictor.update(m, ahead);
        }
        if (i + c.horizon < to) reported[static_cast<std::size_t>(i + c.horizon)] = ahead;
    }
    return s;
}

template <class Speed>
double mean_nmse(run_config c, Speed kmh, int from = 500, int to = 1500) {
    double sum = 0;
    for (const unsigned seed : {11U, 22U, 33U, 44U}) {
        c.seed = seed;
        sum += run(c, kmh, from, to).nmse() / 4;
    }
    return sum;
}

constexpr auto steady(double v) {
    return [v](int) { return v; };
}

TEST(predictors, what_does_not_exist_is_refused_by_name) {
    EXPECT_THROW(snr_predictor(-1), std::invalid_argument);
    EXPECT_THROW(snr_predictor(65), std::invalid_argument);
    for (const int horizon : {0, 3}) try {
            snr_predictor p(horizon, "best");
            ADD_FAILURE();
        } catch (const std::invalid_argument& e) {
            EXPECT_EQ(std::string(e.what()),
                      "predictor is 'best'; valid: last, ar, ls, kalman, delay");
        }
}

// After some time of values that no radio can deliver, the prediction is as if there had been none.
TEST(predictors, forget_what_no_signal_can_be) {
    constexpr float none = std::numeric_limits<float>::quiet_NaN();
    constexpr float endless = std::numeric_limits<float>::infinity();
    for (const auto method : predictor_names)
        for (const int horizon : {0, 3})
            for (const float amplitude : {1e4F, 1e7F, 1e15F, 1e19F, 1e30F, endless, none})
                for (const int slots : {1, 50}) {
                    // A very loud signal is forgotten at the pace of the averages.
                    const int last = amplitude < 1e6F ? 13000 : 2000;
                    snr_predictor p(horizon, method);
                    gains channel(3);
                    std::array<float, nof_bins> ahead{};
                    score s;
                    std::vector<std::array<float, nof_bins>> reported;
                    for (int i = 0; i < last; ++i) {
                        auto m = channel.next(50 * per_kmh);
                        if (i >= 400 && i < 400 + slots)
                            for (std::size_t b = 0; b < nof_bins; ++b) {
                                m.gain[b] *= amplitude;
                                m.power[b] *= amplitude * amplitude;
                            }
                        p.update(m, ahead);
                        reported.push_back(ahead);
                        if (i < last - 1000) continue;
                        for (std::size_t b = 0; b < nof_bins; ++b) {
                            const auto before = static_cast<double>(
                                reported[static_cast<std::size_t>(i - horizon)][b]);
                            s.error += (channel.truth[b] - before) * (channel.truth[b] - before);
                            s.power += channel.truth[b] * channel.truth[b];
                        }
                    }
                    EXPECT_LT(s.nmse(), 0.5) << method << " " << horizon << " " << amplitude;
                    EXPECT_LT(p.nmse(), 1.0) << method << " " << horizon << " " << amplitude;
                }
}

// Two channels that are the same up to a slot, then not: so are the predictions, slot by slot.
TEST(predictors, are_causal) {
    constexpr int change = 700;
    for (const auto method : predictor_names)
        for (const int horizon : {1, 3, 8}) {
            snr_predictor a(horizon, method), b(horizon, method);
            gains one(5), other(6);
            std::array<float, nof_bins> from_a{}, from_b{};
            for (int i = 0; i < change + 20; ++i) {
                const auto m = one.next(125);
                const auto n = other.next(125);
                a.update(m, from_a);
                b.update(i < change ? m : n, from_b);
                if (i < change)
                    ASSERT_EQ(from_a, from_b) << method << i;
                else
                    ASSERT_NE(from_a, from_b) << method << i;
            }
        }
}

TEST(predictors, after_a_reset_start_again) {
    for (const auto method : predictor_names) {
        snr_predictor a(3, method), b(3, method);
        gains before(7);
        std::array<float, nof_bins> from_a{}, from_b{};
        for (int i = 0; i < 500; ++i) a.update(before.next(100), from_a);
        a.reset();
        gains channel(8);
        for (int i = 0; i < 300; ++i) {
            const auto m = channel.next(50);
            a.update(m, from_a);
            b.update(m, from_b);
            ASSERT_EQ(from_a, from_b) << method << i;
        }
    }
}

// Wiener over the whole band, delays and statistics known: 0.0026, 0.0094, 0.0258, 0.0575.
TEST(predictors, in_the_delay_domain_come_near_the_bound_at_75_km_h) {
    constexpr std::array<double, 4> limit{0.0042, 0.0144, 0.0387, 0.0834};
    constexpr std::array<double, 4> bound{0.0026, 0.0094, 0.0258, 0.0575};
    for (int horizon = 1; horizon <= 4; ++horizon) {
        const double nmse = mean_nmse({.horizon = horizon}, steady(75));
        EXPECT_LT(nmse, limit[static_cast<std::size_t>(horizon - 1)]) << horizon;
        EXPECT_GT(nmse, 0.8 * bound[static_cast<std::size_t>(horizon - 1)]) << horizon;
    }
}

TEST(predictors, in_the_delay_domain_are_better_than_the_others_at_any_speed) {
    for (const double kmh : {3.0, 30.0, 75.0, 100.0}) {
        const double best = mean_nmse({}, steady(kmh));
        for (const auto method : predictor_names)
            if (method != default_predictor) {
                EXPECT_LT(best, 0.9 * mean_nmse({.method = method}, steady(kmh)))
                    << method << ' ' << kmh;
            }
    }
}

TEST(predictors, are_unbiased) {
    for (const auto method : predictor_names)
        for (const int horizon : {1, 3, 6}) {
            score all;
            for (unsigned seed = 1; seed <= 4; ++seed) {
                const auto s = run({.method = method, .horizon = horizon, .seed = seed}, steady(75),
                                   500, 2000);
                all.predicted += s.predicted;
                all.real += s.real;
            }
            EXPECT_NEAR(all.bias_db(), 0, 0.2) << method << ' ' << horizon;
        }
}

// Far ahead only the mean is known, with which the NMSE of Rayleigh fading is 1/2.
TEST(predictors, far_ahead_end_at_the_mean_and_not_beyond) {
    for (const auto method : predictor_names)
        for (const int horizon : {12, 24, 64})
            EXPECT_LT(mean_nmse({.method = method, .horizon = horizon}, steady(75)), 0.56)
                << method << ' ' << horizon;
}

// The NMSE in the 200 ms that begin 200 ms after the change, against that at steady speed; good
// enough is the mark of the literature for one slot ahead.
TEST(predictors, follow_a_change_of_speed_within_200_ms) {
    constexpr int change = 1500, settled = change + 300, end = settled + 300;
    for (const auto& [before, after] :
         {std::pair{0.0, 100.0}, {3.0, 75.0}, {75.0, 100.0}, {75.0, 30.0}, {100.0, 10.0}}) {
        const auto kmh = [&](int i) { return i < change ? before : after; };
        const double followed = mean_nmse({}, kmh, settled, end);
        const double at_rest = mean_nmse({}, steady(after), settled, end);
        EXPECT_LT(followed, std::max(1.35 * at_rest, 0.0085)) << before << " -> " << after;
    }
}

// Least squares sees the shadowing in its window and adapts; what knows of the level is far better.
TEST(predictors, take_out_shadowing) {
    const double best = mean_nmse({.shadowing_db = 4}, steady(75));
    EXPECT_LT(best, 0.055);
    EXPECT_LT(best, 0.65 * mean_nmse({.method = "ls", .shadowing_db = 4}, steady(75)));
}

TEST(predictors, take_out_a_carrier_offset) {
    const double without = mean_nmse({}, steady(75));
    for (const double hz : {-150.0, 40.0, 150.0})
        EXPECT_LT(mean_nmse({.offset_hz = hz}, steady(75)), 1.1 * without) << hz;
}

// With 2 % of the slots missing, a gap may cost as much as three slots without any prediction (NMSE
// of the mean: 1/2), including the missing one.
TEST(predictors, bridge_a_missing_slot) {
    const double whole = mean_nmse({}, steady(75));
    EXPECT_LT(mean_nmse({.skip_every = 50}, steady(75)), whole + 3 * 0.02 / 2);
}

// One side of the spectrum only, so that the autocorrelation of the gains is complex, or each path
// with a spectrum of its own. Wiener with all of it known: 0.0070 and 0.0017 (spectra_curve.cpp).
TEST(predictors, in_the_delay_domain_are_the_best_on_asymmetric_spectra_too) {
    for (const auto& [kind, limit] :
         {std::pair(spectrum::directional, 0.009), {spectrum::two_clusters, 0.02}}) {
        const double best = mean_nmse({.kind = kind}, steady(75));
        EXPECT_LT(best, limit) << static_cast<int>(kind);
        for (const auto method : predictor_names)
            if (method != default_predictor) {
                EXPECT_LT(best, 0.75 * mean_nmse({.method = method, .kind = kind}, steady(75)))
                    << method << ' ' << static_cast<int>(kind);
            }
    }
}

// Gaps as overflows make them. What was learned about the channel stays, so that only the memory of
// the last slots has to fill again; the default makes use of the first of them, too.
TEST(predictors, are_themselves_again_64_slots_after_a_gap) {
    constexpr int from = 1000;
    for (const auto method : predictor_names)
        for (const int slots : {1, 4, 8, 15, 75})
            for (const double kmh : {30.0, 75.0}) {
                const int end = from + slots;
                const run_config gap{.method = method, .gap_from = from, .gap_slots = slots};
                const double whole = mean_nmse({.method = method}, steady(kmh), end, end + 300);
                EXPECT_LT(mean_nmse(gap, steady(kmh), end + 64, end + 300), 1.25 * whole)
                    << method << ' ' << slots << ' ' << kmh;
                if (method != default_predictor) continue;
                EXPECT_LT(mean_nmse(gap, steady(kmh), end + 16, end + 64), 2 * whole)
                    << slots << ' ' << kmh;
                EXPECT_LT(mean_nmse(gap, steady(kmh), end + 3, end + 16), kmh < 75 ? 0.05 : 0.25)
                    << slots << ' ' << kmh;
            }
}

TEST(predictors, lose_nothing_to_least_squares_where_the_channel_is_not_clarkes) {
    for (const auto kind : {spectrum::flat, spectrum::line_of_sight})
        for (const int horizon : {1, 3, 6}) {
            const double best = mean_nmse({.horizon = horizon, .kind = kind}, steady(75));
            const double ls =
                mean_nmse({.method = "ls", .horizon = horizon, .kind = kind}, steady(75));
            EXPECT_LT(best, 1.02 * ls) << horizon;
        }
    // 900 Hz of Doppler: slots sample it too seldom, nobody can predict, and nobody has to lose.
    EXPECT_LT(mean_nmse({}, steady(540)), 0.56);
}

// The predictions for the slots [from, from + 60).
struct first_slots {
    double error = 0, power = 0;
    void add(const gains& g, const std::array<float, nof_bins>& reported) {
        for (std::size_t b = 0; b < nof_bins; ++b) {
            const double d = g.truth[b] - static_cast<double>(reported[b]);
            error += d * d;
            power += g.truth[b] * g.truth[b];
        }
    }
    double nmse() const { return error / power; }
};

TEST(predictors, that_succeed_another_are_good_from_their_first_slot_on) {
    constexpr int horizon = 3, before = 700;
    constexpr int takes_over = before + predictor_succession::learning_slots;
    for (const auto* method : {"ar", "ls", "kalman", "delay"}) {
        first_slots succeeded, always, fresh;
        for (unsigned seed = 1; seed <= 6; ++seed) {
            gains g(seed);
            snr_predictor old(horizon, "last"), known(horizon, method), unlearned(horizon, method);
            predictor_succession s(std::make_unique<snr_predictor>(horizon, "last"));
            std::array<std::array<float, nof_bins>, takes_over + 80> a{}, b{}, c{};
            for (int i = 0; i < takes_over + 60; ++i) {
                const auto m = g.next(125);
                const auto at = static_cast<std::size_t>(i), to = at + horizon;
                if (i >= takes_over + horizon) {
                    succeeded.add(g, a[at]);
                    always.add(g, b[at]);
                    fresh.add(g, c[at]);
                }
                if (i == before) {
                    EXPECT_EQ(s.succeed(std::make_unique<snr_predictor>(horizon, method)), nullptr);
                }
                s.update(m, a[to]);
                known.update(m, b[to]);
                if (i >= takes_over) unlearned.update(m, c[to]);
                std::array<float, nof_bins> last;
                old.update(m, last);
                if (i < takes_over) {
                    ASSERT_EQ(a[to], last) << method << ", slot " << i;
                }
                ASSERT_EQ(s.learning(), i >= before && i < takes_over) << i;
            }
            EXPECT_NE(s.take_retired(), nullptr);
            EXPECT_EQ(s.take_retired(), nullptr);
        }
        EXPECT_LT(succeeded.nmse(), 1.15 * always.nmse()) << method;
        EXPECT_GT(fresh.nmse(), 5 * always.nmse()) << method;
    }
}

TEST(predictors, take_over_without_a_signal_too_and_the_last_one_asked_for) {
    gains g(3);
    std::array<float, nof_bins> reported;
    predictor_succession s(std::make_unique<snr_predictor>(3, "last"));
    auto first = std::make_unique<snr_predictor>(3, "ar"),
         second = std::make_unique<snr_predictor>(6);
    const auto *one = first.get(), *two = second.get();
    EXPECT_EQ(s.succeed(std::move(first)), nullptr);
    for (int i = 0; i < 200; ++i) s.skip();
    EXPECT_EQ(s.succeed(std::move(second)).get(), one);  // starts from the beginning again
    for (int i = 0; i < 100; ++i) s.update(g.next(125), reported);
    for (int i = 0; i < 100; ++i) s.skip();
    for (int i = 0; i < 100; ++i) s.pass();
    EXPECT_NE(&s.current(), two);
    s.pass();
    EXPECT_EQ(&s.current(), two);
    EXPECT_NE(s.take_retired(), nullptr);
}

// The predictor in use in each of the next slots, without a signal.
std::vector<predictor_choice> in_use(slot_receiver& receiver, std::int64_t& at, int slots) {
    const std::vector<cf32> silence(slot_samples);
    std::vector<predictor_choice> all;
    for (int i = 0; i < slots; ++i, ++at)
        receiver.process(first_sample(slot(at)), silence,
                         [&](const received_slot&) { all.push_back(receiver.predictor_in_use()); });
    return all;
}

TEST(predictors, are_said_to_be_in_use_when_they_are_whatever_learns_after_them) {
    constexpr int learning = predictor_succession::learning_slots;
    const predictor_choice first{"last", 3}, second{"ar", 6}, third{"ls", 12};
    const auto all = [&](const predictor_choice& c) {
        return std::vector(static_cast<std::size_t>(learning), c);
    };
    const auto made = [](const predictor_choice& c) {
        return std::make_unique<snr_predictor>(c.horizon, c.method);
    };
    slot_receiver receiver({.horizon_slots = first.horizon, .predictor = first.method});
    std::int64_t at = 0;
    receiver.succeed_predictor(made(second));
    EXPECT_EQ(in_use(receiver, at, learning), all(first));
    EXPECT_EQ(in_use(receiver, at, 1), std::vector{second});
    // The third comes before anybody has fetched the first.
    receiver.succeed_predictor(made(third));
    const auto retired = receiver.take_retired_predictor();
    ASSERT_NE(retired, nullptr);
    EXPECT_EQ(retired->choice(), first);
    EXPECT_EQ(in_use(receiver, at, learning), all(second));
    EXPECT_EQ(in_use(receiver, at, 1), std::vector{third});
}

TEST(predictors, are_available_exactly_when_they_can_be_made) {
    for (const std::string method : {"last", "ar", "ls", "kalman", "delay", "oracle", "", "Delay"})
        for (const int horizon : {-1, 0, 1, 64, 65}) {
            bool made = true;
            try {
                const snr_predictor p(horizon, method);
                EXPECT_EQ(p.choice(), (predictor_choice{method, horizon}));
            } catch (const std::invalid_argument&) {
                made = false;
            }
            EXPECT_EQ(available({method, horizon}), made) << method << ", " << horizon;
        }
}

}  // namespace
