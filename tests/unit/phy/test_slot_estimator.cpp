// SPDX-License-Identifier: GPL-3.0-or-later
// SNR of the bins with noise that is not the same in all of them.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "phy/ofdm/slot_extractor.h"
#include "phy/receiver/slot_estimator.h"
#include "phy_link.h"

namespace {

using namespace wip;
using namespace wip::phy;

// Slots over a channel of gain 1 with noise of the given SNR in each bin.
class slots_with_noise {
public:
    explicit slots_with_noise(const std::array<double, nof_bins>& snr_db) : snr_db_(snr_db) {}

    // Mean over `count` slots of the SNR, dB: of the one that the estimator reports, or with a
    // filter of the filtered one.
    std::array<double, nof_bins> measure(slot_estimator& estimator, int count,
                                         bin_power_filter* filter = nullptr) {
        std::array<double, nof_bins> sum{};
        for (int i = 0; i < count; ++i) {
            const slot air(150 + made_++);
            extractor_.extract(test::modulate(modulator_, source_.make(air)).data(), 0, y_);
            for (auto& row : y_)
                for (int n = 0; n < nof_subcarriers; ++n) {
                    const auto b = static_cast<std::size_t>(n / subcarriers_per_bin);
                    const double sigma = std::pow(10, -snr_db_[b] / 20) / std::sqrt(2);
                    row.re[n] += static_cast<float>(sigma * normal_(random_));
                    row.im[n] += static_cast<float>(sigma * normal_(random_));
                }
            EXPECT_TRUE(estimator.estimate(y_, static_cast<int>(air.value % slots_per_frame)));
            auto snr = estimator.snr();
            if (filter != nullptr) {
                const auto m = estimator.measurement(0, 0);
                filter->update(m, estimator.points(0, 0), snr);
                for (float& v : snr) v /= m.noise;
            }
            for (std::size_t b = 0; b < nof_bins; ++b)
                sum[b] += static_cast<double>(snr[b]) / count;
        }
        for (auto& s : sum) s = 10 * std::log10(s);
        return sum;
    }

private:
    std::array<double, nof_bins> snr_db_;
    std::mt19937 random_{1};
    std::normal_distribution<double> normal_;
    test::slot_source source_{2};
    slot_modulator modulator_{{}};
    slot_extractor extractor_;
    slot_planes y_;
    int made_ = 0;
};

TEST(slot_estimator, tells_interference_in_a_few_bins_from_noise_in_all) {
    std::array<double, nof_bins> snr_db;
    snr_db.fill(20);
    snr_db[5] = 10;
    snr_db[6] = 14;
    snr_db[24] = 8;
    slots_with_noise slots(snr_db);
    slot_estimator estimator(0);
    slots.measure(estimator, 200);
    const auto got = slots.measure(estimator, 200);
    for (std::size_t b = 0; b < nof_bins; ++b) EXPECT_NEAR(got[b], snr_db[b], 0.7) << b;
    // The predictor gets power over noise as well.
    const auto m = estimator.measurement(0, 0);
    EXPECT_NEAR(10 * std::log10(static_cast<double>(m.power[5] / m.noise)), 10, 1);
    EXPECT_NEAR(10 * std::log10(static_cast<double>(m.power[12] / m.noise)), 20, 1);
}

// Interference begins while the filter runs: its bins fall as far as those of the slot alone.
TEST(slot_estimator, interference_goes_through_the_filter_of_the_power) {
    std::array<double, nof_bins> snr_db;
    snr_db.fill(20);
    slots_with_noise quiet(snr_db);
    slot_estimator estimator(0);
    bin_power_filter filter;
    quiet.measure(estimator, 150, &filter);
    snr_db[5] = 10;
    snr_db[6] = 14;
    snr_db[24] = 8;
    slots_with_noise slots(snr_db);
    slots.measure(estimator, 300, &filter);
    const auto got = slots.measure(estimator, 150, &filter);
    EXPECT_TRUE(filter.filtered());
    for (std::size_t b = 0; b < nof_bins; ++b) EXPECT_NEAR(got[b], snr_db[b], 0.7) << b;
}

TEST(slot_estimator, sees_no_interference_in_even_noise) {
    for (const double level : {0.0, 6.0, 20.0, 35.0}) {
        std::array<double, nof_bins> snr_db;
        snr_db.fill(level);
        slots_with_noise slots(snr_db);
        slot_estimator estimator(0);
        for (int i = 0; i < 400; ++i) {
            slots.measure(estimator, 1);
            for (const float noise : estimator.bin_noise()) EXPECT_EQ(noise, estimator.noise());
        }
        const auto got = slots.measure(estimator, 100);
        for (std::size_t b = 0; b < nof_bins; ++b) EXPECT_NEAR(got[b], level, 0.7) << level << b;
    }
}

}  // namespace
