// SPDX-License-Identifier: GPL-3.0-or-later
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <limits>
#include <map>
#include <numbers>
#include <random>
#include <stdexcept>
#include <vector>

#include "link/decision_region.h"
#include "link/frame_success.h"
#include "link/prediction_error.h"
#include "link/switch_table.h"
#include "link/symbol_error.h"

namespace wip {
namespace {

double q(double x) { return 0.5 * std::erfc(x / std::sqrt(2)); }
double power(double db) { return std::pow(10, db / 10); }
float from_db(const switch_table& t, int k) { return t.from(k).single(); }

// Proakis: square M-QAM, 1 - (1 - 2 (1 - 1/sqrt M) Q(sqrt(3 SNR / (M - 1))))^2.
double square_qam(double m, double snr) {
    const double p = 2 * (1 - 1 / std::sqrt(m)) * q(std::sqrt(3 * snr / (m - 1)));
    return 1 - (1 - p) * (1 - p);
}

TEST(SymbolError, TheSquareSetsMatchTheirClosedForms) {
    std::map<int, symbol_error> tables;
    for (const int k : {1, 2, 4, 6, 8}) tables.emplace(k, k);
    for (double db = -5; db <= 34; db += 0.5) {
        const double snr = power(db);
        const auto expect_close = [&](int k, double closed) {
            if (closed < 1e-12) return;
            EXPECT_NEAR(tables.at(k).rate(snr) / closed, 1, 3e-4)
                << "k " << k << " at " << db << " dB";
        };
        expect_close(1, q(std::sqrt(2 * snr)));
        expect_close(2, square_qam(4, snr));
        expect_close(4, square_qam(16, snr));
        expect_close(6, square_qam(64, snr));
        if (db > 10) expect_close(8, square_qam(256, snr));
    }
}

TEST(SymbolError, TheOtherSetsMatchASimulation) {
    std::mt19937_64 engine(5);
    std::normal_distribution<double> normal;
    for (const auto& [k, db] : {std::pair{3, 11.0}, {5, 17.0}, {7, 23.0}}) {
        const auto points = constellation_points(k);
        const double sigma = std::sqrt(0.5 / power(db));
        const int n = 100000;
        int wrong = 0;
        for (int i = 0; i < n; ++i) {
            const auto sent = static_cast<std::size_t>(i) % points.size();
            const std::complex<double> y =
                points[sent] + std::complex<double>(sigma * normal(engine), sigma * normal(engine));
            std::size_t best = 0;
            for (std::size_t j = 1; j < points.size(); ++j)
                if (std::norm(y - points[j]) < std::norm(y - points[best])) best = j;
            wrong += best != sent;
        }
        const double expected = symbol_error(k).rate(power(db));
        const double deviation = std::sqrt(expected * (1 - expected) / n);
        EXPECT_NEAR(static_cast<double>(wrong) / n, expected, 4 * deviation) << k;
    }
}

// The border by the bounding points is the same to the bit as the one by all points of the set.
TEST(DecisionRegion, TheBoundingPointsAreEnoughInEveryDirection) {
    std::size_t inside = 0;
    for (int k = 1; k <= 8; ++k)
        for (const auto eight :
             {eight_points::star, eight_points::cross, eight_points::rectangle}) {
            const auto points = constellation_points(k, eight);
            for (std::size_t n = 0; n < points.size(); ++n) {
                const auto bounding = bounding_points(points, n);
                EXPECT_EQ(std::ranges::count(bounding, n), 0);
                EXPECT_LE(bounding.size(), 8U) << k;
                inside = std::max(inside, bounding.size());
                for (int i = 0; i < 360; ++i) {  // multiples of 45 degrees, the corners, too
                    const auto u = std::polar(1.0, std::numbers::pi * i / 180);
                    const auto claim = [&](std::size_t q) {
                        const auto d = points[q] - points[n];
                        return (d.real() * u.real() + d.imag() * u.imag()) / std::norm(d);
                    };
                    double all = 0, some = 0;
                    for (std::size_t q = 0; q < points.size(); ++q)
                        if (q != n) all = std::max(all, claim(q));
                    for (const std::size_t q : bounding) some = std::max(some, claim(q));
                    EXPECT_EQ(some, all) << k << ", point " << n << ", " << i << " degrees";
                }
            }
        }
    EXPECT_GE(inside, 8U);
}

TEST(SymbolError, TheKeptLogarithmsAreThoseOfTheCurves) {
    const auto same = [](int k, eight_points eight) {
        const symbol_error exact(k, eight);
        const auto kept = log_symbol_errors(k, eight);
        for (std::size_t i = 0; i < kept.size(); i += 20) {
            const double db =
                symbol_error_lowest.value + static_cast<double>(i) / symbol_errors_per_db;
            const double expected = std::max(std::log(exact.rate(power(db))), -300.0);
            ASSERT_NEAR(kept[i], expected, 1e-9 * std::abs(expected)) << k << " bits, " << db;
        }
        EXPECT_EQ(kept.size(), 2001U);
    };
    for (int k = 1; k <= max_bits_per_symbol; ++k) same(k, eight_points::star);
    for (const auto eight : {eight_points::cross, eight_points::rectangle}) same(3, eight);
}

TEST(SymbolError, EverySetHasItsPointsUnitEnergyAndZeroMean) {
    for (int k = 1; k <= 8; ++k) {
        const auto p = constellation_points(k);
        EXPECT_EQ(p.size(), 1U << k);
        double energy = 0;
        std::complex<double> mean = 0;
        for (const auto& z : p) {
            energy += std::norm(z);
            mean += z;
        }
        EXPECT_NEAR(energy / static_cast<double>(p.size()), 1, 1e-12);
        EXPECT_NEAR(std::abs(mean), 0, 1e-9);
    }
    EXPECT_THROW(constellation_points(0), std::invalid_argument);
    EXPECT_THROW(symbol_error(9), std::invalid_argument);
}

TEST(SwitchTable, EveryModulationHasAnIntervalOfItsOwnInBothTables) {
    for (const auto kind : {switch_table_kind::nmse_0, switch_table_kind::nmse_0_1}) {
        const switch_table t(kind, link_profile::wipemu);
        EXPECT_GT(from_db(t, 2), 0.0F);
        for (int k = 3; k <= 8; ++k) EXPECT_GT(from_db(t, k), from_db(t, k - 1) + 1.0F);
        EXPECT_LT(from_db(t, 8), 35.0F);
    }
}

TEST(SwitchTable, TheLookupSwitchesAtTheThresholdAndNeverToZero) {
    const switch_table t(switch_table_kind::nmse_0_1, link_profile::wipemu);
    for (int k = 2; k <= 8; ++k) {
        EXPECT_EQ(t.bits_per_symbol(t.from(k)), k);
        EXPECT_EQ(t.bits_per_symbol(db(std::nextafter(from_db(t, k), -1000.0F))), k - 1);
    }
    EXPECT_EQ(t.bits_per_symbol(db(-100.0F)), 1);
    EXPECT_EQ(t.bits_per_symbol(db(std::numeric_limits<float>::quiet_NaN())), 1);
    EXPECT_EQ(t.bits_per_symbol(db(std::numeric_limits<float>::infinity())), 8);
}

TEST(SwitchTable, OfAllBinsItSaysWhatItSaysOfEach) {
    switch_table t(switch_table_kind::measured, link_profile::wipemu);
    std::array<float, nof_bins> snr{};
    for (const double level : {0.0, 0.01, 0.1, 1.0, 100.0}) {
        t.set_error(level);
        for (int round = 0; round < 40; ++round) {
            for (std::size_t b = 0; b < nof_bins; ++b)
                snr[b] = -3.0F + 0.041F * static_cast<float>(round * 25 + static_cast<int>(b));
            snr[0] = from_db(t, 2 + round % 7);
            snr[11] = std::nextafter(snr[0], -1000.0F);
            snr[12] = std::numeric_limits<float>::quiet_NaN();
            snr[24] = round % 2 == 0 ? std::numeric_limits<float>::infinity() : -100.0F;
            const auto bits = t.bits_per_symbol(snr);
            for (std::size_t b = 0; b < nof_bins; ++b)
                EXPECT_EQ(bits[b], t.bits_per_symbol(db(snr[b]))) << level << " " << snr[b];
        }
    }
}

constexpr std::array all_sets{eight_points::star, eight_points::cross, eight_points::rectangle};

// At a threshold of the table for perfect prediction both modulations are worth the same.
TEST(SwitchTable, ForPerfectPredictionTheExpectedBitsCrossAtTheThresholds) {
    for (const auto eight : all_sets) {
        const switch_table t(switch_table_kind::nmse_0, link_profile::wipemu, eight);
        for (int k = 2; k <= 8; ++k) {
            const symbol_error low(k - 1, eight), high(k, eight);
            const auto gain = [&](double db) {
                return k * high.frame_ok(power(db)) - (k - 1) * low.frame_ok(power(db));
            };
            EXPECT_LT(gain(from_db(t, k) - 0.03), 0) << k;
            EXPECT_GT(gain(from_db(t, k) + 0.03), 0) << k;
        }
    }
}

TEST(SwitchTable, EverySetOfEightPointsMovesTheThresholdsBesideItAndNoOthers) {
    for (const auto profile : {link_profile::wipemu, link_profile::radio})
        for (const auto kind : {switch_table_kind::nmse_0, switch_table_kind::nmse_0_1,
                                switch_table_kind::measured}) {
            switch_table star(kind, profile), cross(kind, profile, eight_points::cross),
                rectangle(kind, profile, eight_points::rectangle);
            for (const double error : {-1.0, 0.3, 20.0}) {  // -1: as it begins
                for (auto* t : {&star, &cross, &rectangle}) t->set_error(error);
                // The worse the set, the later 3 bits begin and the sooner they give way to 4.
                EXPECT_GT(from_db(cross, 3), from_db(star, 3) + 0.05F);
                EXPECT_GT(from_db(rectangle, 3), from_db(cross, 3) + 0.2F);
                EXPECT_LE(from_db(cross, 4), from_db(star, 4));
                EXPECT_LE(from_db(rectangle, 4), from_db(cross, 4));
                for (const int k : {2, 5, 6, 7, 8}) {
                    EXPECT_EQ(from_db(cross, k), from_db(star, k)) << k;
                    EXPECT_EQ(from_db(rectangle, k), from_db(star, k)) << k;
                }
            }
            if (kind == switch_table_kind::measured) {  // with much error (13 dB) clearly
                EXPECT_LT(from_db(cross, 4), from_db(star, 4) - 0.03F);
                EXPECT_LT(from_db(rectangle, 4), from_db(cross, 4) - 0.1F);
            }
        }
}

// Expected bits of a frame at a true SNR, of what a table sends for the predicted one.
class link_of {
public:
    explicit link_of(eight_points eight) {
        for (int k = 1; k <= 8; ++k) errors_.emplace_back(k, eight);
    }
    double bits(const switch_table& t, double predicted, double snr) const {
        const int k = t.bits_per_symbol(db::from_power(predicted));
        return k * errors_[static_cast<std::size_t>(k - 1)].frame_ok(snr);
    }

private:
    std::vector<symbol_error> errors_;
};

TEST(SwitchTable, NoSetOfEightPointsCarriesMoreWithTheTableOfTheStarThanWithItsOwn) {
    for (const auto eight : {eight_points::cross, eight_points::rectangle}) {
        const link_of link(eight);
        // A right prediction: at every SNR, and clearly more where the tables differ.
        const switch_table own(switch_table_kind::nmse_0, link_profile::wipemu, eight);
        const switch_table star(switch_table_kind::nmse_0, link_profile::wipemu);
        double most = 0;
        for (double db = 0; db < 35; db += 0.01) {
            const double gain =
                link.bits(own, power(db), power(db)) - link.bits(star, power(db), power(db));
            EXPECT_GT(gain, -0.005) << db;
            most = std::max(most, gain);
        }
        EXPECT_GT(most, eight == eight_points::cross ? 0.03 : 0.3);
        // NMSE 0.1 at 16 dB, Rayleigh: in the mean.
        const switch_table own_01(switch_table_kind::nmse_0_1, link_profile::wipemu, eight);
        const switch_table star_01(switch_table_kind::nmse_0_1, link_profile::wipemu);
        const double s = 1 - std::sqrt(0.8), mean = power(16);
        std::mt19937_64 engine(21);
        std::normal_distribution<double> normal(0, std::sqrt(0.5));
        double gain = 0;
        for (int i = 0; i < 20000; ++i) {
            const std::complex<double> known(normal(engine), normal(engine)),
                unknown(normal(engine), normal(engine));
            const double predicted = mean * ((1 - s) * std::norm(known) + s);
            const double snr = mean * std::norm(std::sqrt(1 - s) * known + std::sqrt(s) * unknown);
            gain += link.bits(own_01, predicted, snr) - link.bits(star_01, predicted, snr);
        }
        EXPECT_GT(gain, 0);
    }
}

// The criterion of the other table by simulation: mean over the true SNR given the predicted one.
TEST(SwitchTable, ForPredictionErrorTheExpectedBitsCrossAtTheThresholds) {
    const switch_table t(switch_table_kind::nmse_0_1, link_profile::wipemu);
    const double s = 1 - std::sqrt(0.8), mean = power(16);
    std::mt19937_64 engine(7);
    std::normal_distribution<double> normal(0, std::sqrt(s / 2));
    for (int k = 2; k <= 8; ++k) {
        const symbol_error low(k - 1), high(k);
        const auto gain = [&](double db) {
            const double a = std::sqrt(std::max(0.0, power(db) / mean - s));
            double sum = 0;
            for (int i = 0; i < 4000; ++i) {
                const double x = a + normal(engine), y = normal(engine);
                const double snr = mean * (x * x + y * y);
                sum += k * high.frame_ok(snr) - (k - 1) * low.frame_ok(snr);
            }
            return sum;
        };
        EXPECT_LT(gain(from_db(t, k) - 1.0), 0) << k;
        EXPECT_GT(gain(from_db(t, k) + 1.0), 0) << k;
    }
}

// At the threshold of the `radio` table frames are worth their payload, 24 bits less than they
// hold.
TEST(SwitchTable, WithACrcInTheFrameItsPayloadCounts) {
    const switch_table t(switch_table_kind::nmse_0, link_profile::radio);
    for (int k = 2; k <= 8; ++k) {
        const symbol_error low(k - 1), high(k);
        const auto gain = [&](double db) {
            return frame_payload_bits(link_profile::radio, k) * high.frame_ok(power(db)) -
                   frame_payload_bits(link_profile::radio, k - 1) * low.frame_ok(power(db));
        };
        EXPECT_LT(gain(from_db(t, k) - 0.03), 0) << k;
        EXPECT_GT(gain(from_db(t, k) + 0.03), 0) << k;
    }
}

TEST(SwitchTable, TheOneThatFollowsTheErrorIsTheFixedOnesAtTheirErrors) {
    for (const auto profile : {link_profile::wipemu, link_profile::radio}) {
        switch_table t(switch_table_kind::measured, profile);
        const switch_table perfect(switch_table_kind::nmse_0, profile);
        const switch_table noisy(switch_table_kind::nmse_0_1, profile);
        for (int k = 2; k <= 8; ++k) EXPECT_EQ(from_db(t, k), from_db(noisy, k));  // to begin with
        t.set_error(0);
        for (int k = 2; k <= 8; ++k) EXPECT_EQ(from_db(t, k), from_db(perfect, k));
        t.set_error((1 - std::sqrt(0.8)) * power(16));
        for (int k = 2; k <= 8; ++k) EXPECT_NEAR(from_db(t, k), from_db(noisy, k), 0.03) << k;
    }
}

TEST(SwitchTable, ItMovesSmoothlyWithTheErrorAndForgetsWhereItWas) {
    switch_table t(switch_table_kind::measured, link_profile::radio), fresh = t;
    std::array<float, 9> before{};
    for (double db = -40; db <= 50; db += 0.05) {
        t.set_error(power(db));
        for (int k = 2; k <= 8; ++k) {
            const auto i = static_cast<std::size_t>(k);
            if (before[i] != 0) {
                EXPECT_NEAR(from_db(t, k), before[i], 0.03F) << k << " at " << db;
            }
            if (k > 2) {
                EXPECT_GT(from_db(t, k), from_db(t, k - 1) + 1);
            }
            before[i] = from_db(t, k);
        }
    }
    t.set_error(power(3));
    fresh.set_error(power(3));
    for (int k = 2; k <= 8; ++k) EXPECT_EQ(from_db(t, k), from_db(fresh, k));
    t.set_error(std::numeric_limits<double>::quiet_NaN());
    t.set_error(-1);
    for (int k = 2; k <= 8; ++k) EXPECT_EQ(from_db(t, k), from_db(fresh, k));
    t.set_error(std::numeric_limits<double>::infinity());
    EXPECT_LT(from_db(t, 8), 40.0F);
}

TEST(SwitchTable, TheFixedOnesDoNotFollow) {
    switch_table t(switch_table_kind::nmse_0, link_profile::radio);
    const float was = from_db(t, 5);
    t.set_error(100);
    EXPECT_EQ(from_db(t, 5), was);
}

// Fed with predictions and their NMSE the level comes out as the one that made them.
TEST(PredictionError, TheLevelOfFadingAndOfAStillChannelIsRecovered) {
    std::mt19937_64 engine(11);
    std::normal_distribution<double> normal;
    for (const double line_of_sight : {0.0, 1.0}) {
        const double mean = power(16), s = 0.08;
        prediction_error meter;
        double error = 0, energy = 0;
        EXPECT_FALSE(meter.known());
        for (int pass = 0; pass < 2; ++pass) {  // NMSE first, then what is reported
            for (int slot = 0; slot < 3000; ++slot) {
                std::array<float, nof_bins> report;
                for (float& p : report) {
                    const double c = std::sqrt((1 - s) / 2), e = std::sqrt(s / 2);
                    const std::complex<double> known =
                        line_of_sight > 0
                            ? std::complex<double>(std::sqrt(1 - s), 0)
                            : std::complex<double>(c * normal(engine), c * normal(engine));
                    const auto gain =
                        known + std::complex<double>(e * normal(engine), e * normal(engine));
                    const double predicted = mean * (std::norm(known) + s);
                    const double truth = mean * std::norm(gain);
                    error += (truth - predicted) * (truth - predicted);
                    energy += truth * truth;
                    p = static_cast<float>(10 * std::log10(predicted));
                }
                if (pass == 1) meter.add(report, static_cast<float>(error / energy));
            }
        }
        ASSERT_TRUE(meter.known());
        EXPECT_NEAR(meter.mean_snr() / mean, 1, 0.03);
        EXPECT_NEAR(meter.level() / (s * mean), 1, 0.05) << line_of_sight;
    }
}

TEST(PredictionError, ReportsThatMakeNoSenseStayWithinTheMean) {
    prediction_error meter;
    std::array<float, nof_bins> report;
    report.fill(12);
    meter.add(report, std::numeric_limits<float>::quiet_NaN());
    EXPECT_FALSE(meter.known());
    meter.add(report, 3.0F);
    EXPECT_TRUE(meter.known());
    EXPECT_NEAR(meter.level(), power(12), 1e-3);
    meter.add(report, 0.0F);
    EXPECT_EQ(meter.level(), 0);
    report.fill(std::numeric_limits<float>::infinity());
    meter.add(report, 0.5F);
    EXPECT_TRUE(std::isfinite(meter.level()));
}

TEST(FrameSuccess, TheKeptCurvesAreTheExactOnes) {
    for (const auto eight : all_sets)
        for (int k = 1; k <= 8; ++k) {
            const symbol_error exact(k, eight);
            for (double db = -19.9; db < 45; db += 0.37)
                EXPECT_NEAR(frame_success(k, wip::db(db), eight), exact.frame_ok(power(db)), 0.01)
                    << k << " at " << db;
            EXPECT_LT(frame_success(k, db(std::numeric_limits<double>::quiet_NaN()), eight), 1e-6);
            EXPECT_EQ(frame_success(k, db(200), eight), 1);
        }
}

// The error model itself: NMSE of the unbiased prediction is s - s^2/2.
TEST(SwitchTable, TheModelOfThePredictionErrorHasTheNmseThatItClaims) {
    const double nmse = 0.1, s = 1 - std::sqrt(1 - 2 * nmse);
    std::mt19937_64 engine(9);
    std::normal_distribution<double> normal;
    const int n = 400000;
    double error = 0, energy = 0, bias = 0;
    for (int i = 0; i < n; ++i) {
        const double c = std::sqrt((1 - s) / 2), e = std::sqrt(s / 2);
        const std::complex<double> predicted(c * normal(engine), c * normal(engine));
        const auto true_gain =
            predicted + std::complex<double>(e * normal(engine), e * normal(engine));
        const double p = std::norm(predicted) + s, g = std::norm(true_gain);
        error += (g - p) * (g - p);
        energy += g * g;
        bias += g - p;
    }
    EXPECT_NEAR(error / energy, nmse, 0.002);
    EXPECT_NEAR(bias / n, 0, 0.003);
}

}  // namespace
}  // namespace wip
