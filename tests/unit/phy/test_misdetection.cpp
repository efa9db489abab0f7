// SPDX-License-Identifier: GPL-3.0-or-later
// Which frames are accepted when their CRC holds. How often a wrong one is delivered is measured by
// tests/bench/misdetection.cpp.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <random>
#include <utility>
#include <vector>

#include "phy/detection/expected_errors.h"
#include "phy/detection/slot_detector.h"
#include "phy/detection/wrong_decisions.h"
#include "phy/grid/sequence.h"
#include "phy/math/aligned.h"

namespace {

using namespace wip;
using namespace wip::phy;

// Symbols of a frame through noise, sliced.
struct noisy_frame : soft_copy {
    label_array got{};
    int wrong = 0;
    noisy_frame(const constellation& c, double snr, std::mt19937& random) : soft_copy{} {
        std::normal_distribution<float> noise(0, static_cast<float>(std::sqrt(0.5 / snr)));
        label_array sent{};
        for (std::size_t i = 0; i < nof_labels; ++i) {
            sent[i] = static_cast<std::uint8_t>(random() % c.points().size());
            re[i] = c.points()[sent[i]].real() + noise(random);
            im[i] = c.points()[sent[i]].imag() + noise(random);
        }
        c.slice(re.data(), im.data(), got.data(), label_capacity);
        for (std::size_t i = 0; i < nof_labels; ++i) wrong += got[i] != sent[i];
    }
};

TEST(expected_errors, are_those_that_happen_or_a_few_more) {
    std::mt19937 random(4);
    for (int k = 1; k <= max_bits_per_symbol; ++k) {
        const constellation c(k);
        for (const double y : {2.5, 4.0}) {  // 5 %, 1 % of the symbols or so
            const double snr = y / static_cast<double>(c.unit() * c.unit());
            double wrong = 0;
            constexpr int frames = 1000;
            for (int n = 0; n < frames; ++n) wrong += noisy_frame(c, snr, random).wrong;
            alignas(vector_alignment) std::array<float, label_capacity> one;
            one.fill(2);
            const float e = expected_errors(one.data(), static_cast<float>(snr / 2), k);
            // Q's approximation is 15 to 30 % high there, and counts two boundaries passed twice.
            EXPECT_GT(static_cast<double>(e), 0.95 * wrong / frames) << k << " " << y;
            EXPECT_LT(static_cast<double>(e), 1.45 * wrong / frames) << k << " " << y;
        }
        alignas(vector_alignment) std::array<float, label_capacity> one;
        one.fill(clear_snr(k));
        EXPECT_LT(expected_errors(one.data(), 1, k), 1e-6F);
        one.fill(0);
        EXPECT_GT(expected_errors(one.data(), 1, k), 30);
    }
}

// Frames of one SNR, those that look better than the mean and the others apart: in both, as many
// symbols are wrong as are estimated.
TEST(wrong_decisions, are_as_many_as_the_symbols_tell) {
    std::mt19937 random(5);
    for (const int k : {1, 2, 4, 5, 6, 7, 8}) {
        const constellation c(k);
        const double snr = 3.3 / static_cast<double>(c.unit() * c.unit());  // two or three wrong
        constexpr int frames = 4000;
        std::vector<std::pair<float, int>> estimated_and_wrong;
        for (int n = 0; n < frames; ++n) {
            noisy_frame f(c, snr, random);
            f.weight.fill(0.01F);  // only the ratio of these counts
            estimated_and_wrong.emplace_back(wrong_decisions(c, f, f.got), f.wrong);
        }
        std::ranges::sort(estimated_and_wrong);
        double least = 0;
        for (const bool upper : {false, true}) {
            double estimated = 0, wrong = 0;
            for (int n = 0; n < frames / 2; ++n) {
                const auto& [t, w] =
                    estimated_and_wrong[static_cast<std::size_t>(n + (upper ? frames / 2 : 0))];
                estimated += static_cast<double>(t);
                wrong += w;
            }
            EXPECT_GT(estimated, 0.85 * wrong) << k << " " << upper;
            EXPECT_LT(estimated, 1.2 * wrong) << k << " " << upper;
            if (!upper)
                least = wrong;
            else
                EXPECT_GT(wrong, 1.4 * least) << k;  // so the two halves do differ
        }
    }
}

// A slot on a channel of gain 1: frames of one modulation in every bin, `wrong` symbols of each
// moved beside their point, and the frames as they are decided then.
class accepted_frames : public testing::TestWithParam<int>, public check_watcher {
protected:
    const int k = GetParam();
    constellation points{k};
    slot_detector detector{3, false};
    std::mt19937 random{6};
    std::array<plane, symbols_per_slot> y{};
    slot_grant grant;
    channel_estimate channel{};
    std::array<float, nof_bins> noise{};
    std::array<bin_result, nof_bins> out;
    int checks = 0, held = 0, accepted = 0;

    void on_check(bin_index, const label_array&, bool holds, bool is_accepted) override {
        ++checks;
        held += holds;
        accepted += is_accepted;
    }

    // Noise of that variance around right symbols, cut off inside their cells: the CRC holds.
    void receive(float variance) {
        detector.watch(this);
        std::fill_n(channel.middle.re, nof_subcarriers, 1.F);
        noise.fill(variance);
        std::normal_distribution<float> normal(0, std::sqrt(variance / 2));
        const auto inside = [&] {
            // The star's cells are not square.
            for (;;)
                if (const float n = normal(random);
                    std::abs(n) < (k == 3 ? 0.7F : 0.99F) * points.unit())
                    return n;
        };
        for (std::size_t b = 0; b < nof_bins; ++b) {
            auto& g = grant.bins[b];
            g.bits_per_symbol = static_cast<std::uint8_t>(k);
            g.sn = static_cast<wire_sn>(b);
            std::vector<std::uint8_t> payload(
                static_cast<std::size_t>(frame_payload_bytes(link_profile::radio, k)));
            label_array labels{};
            encode_frame(payload, k, payload_key(3, g.sn, 0), labels);
            std::size_t i = 0;
            for (const auto& run : payload_runs)
                for (int n = 0; n < run.length; ++n, ++i) {
                    const cf32 p = points.points()[labels[i]];
                    auto& row = y[static_cast<std::size_t>(run.from.symbol)];
                    const auto at =
                        b * subcarriers_per_bin + static_cast<std::size_t>(run.from.subcarrier + n);
                    row.re[at] = p.real() + inside();
                    row.im[at] = p.imag() + inside();
                }
        }
        detector.detect(y, channel, noise, grant, out);
    }
    int good() const {
        return static_cast<int>(std::ranges::count(out, frame_outcome::good, &bin_result::outcome));
    }
};
INSTANTIATE_TEST_SUITE_P(bits, accepted_frames, testing::Range(1, 9));

TEST_P(accepted_frames, are_all_that_are_right_where_frames_come_through) {
    receive(points.unit() * points.unit() / 9);
    EXPECT_EQ(held, nof_bins);
    EXPECT_EQ(good(), nof_bins);
}

TEST_P(accepted_frames, are_none_where_it_takes_luck_to_be_right) {
    receive(2 * points.unit() * points.unit());  // the noise is wider than the cell
    EXPECT_EQ(held, nof_bins);
    EXPECT_LE(good(), k == 3 ? nof_bins / 2 : 0);  // further inside, it looks less noisy than it is
}

TEST_P(accepted_frames, are_not_refused_for_a_wrong_estimate_of_the_noise) {
    const float little = points.unit() * points.unit() / 12;
    receive(little);
    noise.fill(100 * little);
    detector.detect(y, channel, noise, grant, out);
    EXPECT_EQ(good(), nof_bins);
}

}  // namespace
