// SPDX-License-Identifier: GPL-3.0-or-later
// Predictions of given quality: the NMSE is the one asked for, and E[g | g^] = g^.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <stdexcept>
#include <utility>
#include <vector>

#include "bin/fading_channel.h"
#include "bin/gain_prediction.h"
#include "bin/power_prediction.h"
#include "profiles/channel_definition.h"
#include "steady_fading.h"

using namespace wip;
using namespace wip::bin_model;
using profiles::load;

namespace {

using row = std::array<float, nof_bins>;

struct pairs {
    std::vector<std::pair<double, double>> snrs;  // (predicted, true) SNRs

    double nmse() const {
        double error = 0, power = 0;
        for (const auto& [p, g] : snrs) {
            error += (p - g) * (p - g);
            power += g * g;
        }
        return error / power;
    }
    // Mean true SNR over mean predicted SNR in each tenth of the predictions.
    std::vector<double> bias_of_deciles() {
        std::sort(snrs.begin(), snrs.end());
        std::vector<double> ratio;
        for (std::size_t d = 0; d < 10; ++d) {
            double predicted = 0, truth = 0;
            for (std::size_t i = d * snrs.size() / 10; i < (d + 1) * snrs.size() / 10; ++i) {
                predicted += snrs[i].first;
                truth += snrs[i].second;
            }
            ratio.push_back(truth / predicted);
        }
        return ratio;
    }
};

// Independent realisations, a few slots far apart of each, every fifth bin.
pairs collect(const fading_config& base, double nmse, int realisations,
              prediction_mean mean = prediction_mean::unbiased) {
    pairs all;
    for (int seed = 0; seed < realisations; ++seed) {
        fading_config c = base;
        c.seed = static_cast<std::uint64_t>(seed) + 1000;
        fading_channel channel(c);
        gain_prediction prediction(c, nmse, slot_count(3), nullptr, mean);
        for (std::int64_t s = 0; s < 10; ++s) {
            row g, p;
            channel.snr(slot(s * 997), g);
            prediction.predicted_snr(slot(s * 997), p);
            for (std::size_t b = 0; b < nof_bins; b += 6)
                all.snrs.emplace_back(static_cast<double>(p[b]), static_cast<double>(g[b]));
        }
    }
    return all;
}

// A trace of a definition, with a level that wanders by `swing_db` (the model does not know it).
trace_channel trace_of(const char* profile, double swing_db) {
    fading_channel c(steady_fading(load(profile), 125, db(10), 21));
    std::vector<trace_row> rows(20000);
    for (std::size_t t = 0; t < rows.size(); ++t) {
        c.snr(slot(static_cast<std::int64_t>(t)), rows[t]);
        const double swing = swing_db * std::sin(2 * M_PI * static_cast<double>(t) / 1700);
        for (float& g : rows[t])
            g = std::max(-60.0f, 10 * std::log10(g) + static_cast<float>(swing));
    }
    return trace_channel(rows);
}

}  // namespace

TEST(GainPrediction, has_the_nmse_that_is_asked_for_and_no_bias) {
    for (const char* name : {"jakes", "eva", "tdl-c", "flat"}) {
        for (const double nmse : {0.0085, 0.0356, 0.0963, 0.20, 0.45}) {
            pairs all = collect(steady_fading(load(name), 125, db(16), 1), nmse, 400);
            EXPECT_NEAR(all.nmse() / nmse, 1, 0.12) << name << " " << nmse;
            const std::vector<double> bias = all.bias_of_deciles();
            for (std::size_t d = 0; d < bias.size(); ++d)
                EXPECT_NEAR(bias[d], 1, 0.12) << name << " " << nmse << " decile " << d;
        }
    }
}

// The power of the predicted gain is too low by the part that is not predicted, where it is low by
// more than where it is high.
TEST(GainPrediction, a_plain_one_has_the_nmse_and_is_too_low) {
    for (const char* name : {"jakes", "flat"}) {
        const fading_config c = steady_fading(load(name), 125, db(16), 1);
        for (const double nmse : {0.0356, 0.0963}) {
            pairs all = collect(c, nmse, 400, prediction_mean::plain);
            EXPECT_NEAR(all.nmse() / nmse, 1, 0.12) << name << " " << nmse;
            const std::vector<double> bias = all.bias_of_deciles();
            EXPECT_GT(bias.front(), 1.3) << name;
            EXPECT_GT(bias.back(), 1) << name;
        }
    }
    // One element of a Rayleigh channel: s = NMSE, so a prediction has 1 - NMSE of the mean.
    double predicted = 0, truth = 0;
    for (const auto& [p, g] :
         collect(steady_fading(load("flat"), 125, db(16), 1), 0.1, 2000, prediction_mean::plain)
             .snrs) {
        predicted += p;
        truth += g;
    }
    EXPECT_NEAR(predicted / truth, 0.9, 0.03);
}

TEST(GainPrediction, knows_the_direct_path) {
    // tdl-e: a Rice tap with K = 22 dB and a tenth of the power in fading taps.
    const fading_config c = steady_fading(load("tdl-e"), 125, db(16), 1);
    const double largest = gain_prediction::largest_nmse(c);
    EXPECT_LT(largest, 0.2);
    EXPECT_THROW(gain_prediction(c, largest * 1.01), std::invalid_argument);
    pairs all = collect(c, largest / 2, 1000);
    EXPECT_NEAR(all.nmse() / (largest / 2), 1, 0.12);
    for (const double b : all.bias_of_deciles()) EXPECT_NEAR(b, 1, 0.03);
}

TEST(GainPrediction, of_nmse_0_is_the_truth) {
    const fading_config c = steady_fading(load("jakes"), 125, db(16), 8);
    fading_channel channel(c);
    gain_prediction prediction(c, 0);
    perfect_prediction perfect(channel);
    for (std::int64_t s = 0; s < 50; ++s) {
        row g, p, q;
        channel.snr(slot(s), g);
        prediction.predicted_snr(slot(s), p);
        perfect.predicted_snr(slot(s), q);
        EXPECT_EQ(g, p);
        EXPECT_EQ(g, q);
    }
}

// Loops shorter and longer than the horizon, further apart than what is kept, and going back.
TEST(GainPrediction, beside_a_channel_says_what_it_says_alone) {
    fading_config c = steady_fading(load("jakes"), 125, db(16), 8);
    c.channel.large_scale.shadowing.emplace();
    c.channel.large_scale.blackouts.push_back({.start_s = 0.05, .duration_s = 0.01});
    for (const std::int64_t loop : {1, 3, 9, 70}) {
        fading_channel together(c), alone(c);
        gain_prediction with_channel(c, 0.1, slot_count(3), &together),
            by_itself(c, 0.1, slot_count(3));
        for (std::int64_t n = 0; n < 200; ++n) {
            const slot s(n < 150 ? n : 150 - n);
            row g, h, p, q;
            together.snr(s, g);
            with_channel.predicted_snr(s + slot_count(loop), p);
            alone.snr(s, h);
            by_itself.predicted_snr(s + slot_count(loop), q);
            EXPECT_EQ(g, h) << loop << " " << n;
            EXPECT_EQ(p, q) << loop << " " << n;
        }
    }
}

TEST(GainPrediction, cannot_be_wrong_in_a_channel_that_does_not_fade) {
    EXPECT_NEAR(gain_prediction::largest_nmse(steady_fading(load("static"), 125, db(16), 1)), 0,
                1e-9);
    EXPECT_THROW(gain_prediction(steady_fading(load("static"), 125, db(16), 1), 0.1),
                 std::invalid_argument);
    EXPECT_NEAR(gain_prediction::largest_nmse(steady_fading(load("flat"), 5, db(16), 1)), 0.5,
                1e-4);
    for (const double bad : {-0.1, 0.6, double{NAN}})
        EXPECT_THROW(gain_prediction(steady_fading(load("flat"), 5, db(16), 1), bad),
                     std::invalid_argument);
}

TEST(PowerPrediction, has_the_nmse_that_is_asked_for_and_no_bias_whatever_the_distribution) {
    struct one {
        const char* profile;
        double swing_db;
    };
    for (const one& o : {one{"jakes", 0}, one{"jakes", 6}, one{"tdl-d", 3}, one{"static", 6}}) {
        trace_channel trace = trace_of(o.profile, o.swing_db);
        for (const double nmse : {0.0085, 0.0963, 0.20}) {
            if (nmse > power_prediction::largest_nmse(trace)) continue;
            power_prediction prediction(trace, nmse, 5);
            pairs all;
            for (std::int64_t s = 0; s < 20000; ++s) {
                row g, p;
                trace.snr(slot(s), g);
                prediction.predicted_snr(slot(s), p);
                for (std::size_t b = 0; b < nof_bins; ++b)
                    all.snrs.emplace_back(static_cast<double>(p[b]), static_cast<double>(g[b]));
            }
            EXPECT_NEAR(all.nmse() / nmse, 1, 0.1) << o.profile << o.swing_db << " " << nmse;
            for (const double b : all.bias_of_deciles())
                EXPECT_NEAR(b, 1, 0.06) << o.profile << o.swing_db << " " << nmse;
        }
    }
}

TEST(PowerPrediction, of_nmse_0_is_the_truth_and_too_much_is_refused) {
    trace_channel trace = trace_of("jakes", 0), flat(std::vector<trace_row>(10, trace_row{}));
    power_prediction prediction(trace, 0, 5);
    row g, p;
    trace.snr(slot(17), g);
    prediction.predicted_snr(slot(17), p);
    EXPECT_EQ(g, p);
    EXPECT_THROW(power_prediction(flat, 0.1, 1), std::invalid_argument);
    for (const double bad : {0.6, -0.1, 1e-5, double{NAN}})
        EXPECT_THROW(power_prediction(trace, bad, 1), std::invalid_argument);
}
