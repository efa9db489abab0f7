// SPDX-License-Identifier: GPL-3.0-or-later
// Sampling clocks that differ: the receiver follows the drift, slot by slot, without a slip.
#include <gtest/gtest.h>

#include <deque>

#include "phy_link.h"

namespace {

using namespace wip;
using namespace wip::phy;
using namespace wip::phy::test;

// Samples of a stream at times n (1 + ppm 1e-6): 32-tap windowed sinc.
class resampler {
public:
    explicit resampler(double ppm) : step_(1 + ppm * 1e-6) {}
    void give(const std::vector<cf32>& x) { stream_.insert(stream_.end(), x.begin(), x.end()); }
    bool take(cf32& out) {
        const auto whole = static_cast<std::int64_t>(std::floor(at_));
        const double fraction = at_ - static_cast<double>(whole);
        if (whole - dropped_ + taps / 2 >= static_cast<std::int64_t>(stream_.size())) return false;
        std::complex<double> sum{};
        for (int i = -taps / 2 + 1; i <= taps / 2; ++i) {
            const auto from = whole + i - dropped_;
            if (from < 0) continue;
            const double t = i - fraction;
            const double x = std::numbers::pi * t;
            const double sinc = std::abs(t) < 1e-9 ? 1 : std::sin(x) / x;
            const double window = 0.5 + 0.5 * std::cos(2 * x / (taps + 1));
            sum += std::complex<double>(stream_[static_cast<std::size_t>(from)]) * sinc * window;
        }
        out = cf32(sum);
        at_ += step_;
        while (whole - dropped_ > 2 * taps) {
            stream_.pop_front();
            ++dropped_;
        }
        return true;
    }

private:
    static constexpr int taps = 32;
    double step_;
    double at_ = 0;
    std::int64_t dropped_ = 0;
    std::deque<cf32> stream_;
};

// At 1.8 GHz these are carriers 18 and 36 kHz off, which the second attempt of the acquisition
// finds.
TEST(sampling_clock, ten_and_twenty_ppm_off_are_followed_without_a_slip) {
    for (const double ppm : {20.0, -10.0}) {
        slot_modulator modulator({});
        slot_receiver receiver({});
        slot_source source(6);
        sample_channel channel({.snr_db = 35, .cfo_hz = 1800 * ppm, .delay = 300});
        resampler clock(ppm);
        std::vector<cf32> chunk;
        std::int64_t first = 150 * slot_samples;
        int locked = 0, good = 0, bad = 0, without = 0;
        constexpr int slots = 700;  // the slot start moves by 36 samples, 72
        for (int i = 0; i < slots; ++i) {
            clock.give(modulate(modulator, source.make(slot(150 + i))));
            chunk.clear();
            for (cf32 v; clock.take(v);) chunk.push_back(v);
            const auto x = channel.pass(chunk);
            receiver.process(sample(first), x, [&](const received_slot& r) {
                locked += r.locked;
                if (i < 100) return;
                without += !r.grant_ok;
                for (const auto& b : r.bins) {
                    good += b.outcome == frame_outcome::good;
                    bad += b.outcome == frame_outcome::bad;
                }
            });
            first += static_cast<std::int64_t>(x.size());
        }
        EXPECT_GE(locked, slots - 24 - 10) << ppm;
        EXPECT_EQ(receiver.state().lock_losses, 0U);
        EXPECT_EQ(without, 0);
        EXPECT_EQ(bad, 0);
        EXPECT_GT(good, 590 * nof_bins);
        EXPECT_NEAR(receiver.state().cfo_hz, 1800 * ppm, 2);
        EXPECT_NEAR(
            std::remainder(receiver.state().timing_samples - (300 - 0.0512 * ppm / 10 * slots),
                           slot_samples),
            0, 1);
    }
}

}  // namespace
