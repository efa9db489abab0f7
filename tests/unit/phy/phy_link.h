// SPDX-License-Identifier: GPL-3.0-or-later
// A base station's modulator, a channel (delay, CFO, clock offset, gain, fading, noise) and a
// terminal's receiver in one thread, with everything seeded: the world of the PHY tests.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <cstdint>
#include <deque>
#include <functional>
#include <numbers>
#include <random>
#include <vector>

#include "phy/grid/signal_level.h"
#include "phy/receiver/slot_receiver.h"
#include "phy/transmitter/slot_modulator.h"

namespace wip::phy::test {

struct sent_slot {
    slot air;
    slot_grant grant;
    std::array<std::vector<std::uint8_t>, nof_bins> payload;
};

// Random slots of one modulation (0: a random one for each bin), new frames only.
class slot_source {
public:
    explicit slot_source(int bits_per_symbol = 0, std::uint32_t seed = 1)
        : bits_(bits_per_symbol), random_(seed) {}

    sent_slot make(slot air) {
        sent_slot s{air, {}, {}};
        s.grant.frame_number = frame_number_of(air);
        s.grant.first_new_sn = sn_;
        for (std::size_t b = 0; b < nof_bins; ++b) {
            const int k = bits_ > 0 ? bits_ : static_cast<int>(random_() % 9);
            s.grant.bins[b].bits_per_symbol = static_cast<std::uint8_t>(k);
            if (k == 0) continue;
            s.grant.bins[b].sn = sn_++;
            s.payload[b] = random_payload(k);
        }
        return s;
    }
    std::vector<std::uint8_t> random_payload(int k) {
        std::vector<std::uint8_t> p(
            static_cast<std::size_t>(frame_payload_bytes(link_profile::radio, k)));
        for (auto& byte : p) byte = static_cast<std::uint8_t>(random_());
        if (frame_payload_nibbles(link_profile::radio, k) % 2 != 0) p.back() &= 0xf0;
        return p;
    }

private:
    int bits_;
    wire_sn sn_ = 0;
    std::mt19937 random_;
};

inline std::vector<cf32> modulate(slot_modulator& m, const sent_slot& s) {
    std::vector<cf32> out(slot_samples);
    std::array<std::span<const std::uint8_t>, nof_bins> views;
    for (std::size_t b = 0; b < nof_bins; ++b) views[b] = s.payload[b];
    m.work(s.air, s.grant, views, std::span<cf32, slot_samples>(out.data(), slot_samples));
    return out;
}

struct channel_settings {
    double snr_db = 40;  // per subcarrier, at gain 1
    double cfo_hz = 0;
    int delay = 0;  // samples
    double gain_db = 0;
    double doppler_hz = 0;  // 0: the channel is static
    std::uint32_t seed = 7;
};

// Samples in, samples out; keeps its state from call to call.
class sample_channel {
public:
    explicit sample_channel(const channel_settings& c)
        : set(c), random_(c.seed), late_(static_cast<std::size_t>(c.delay), cf32{}) {
        std::uniform_real_distribution<double> angle(-std::numbers::pi, std::numbers::pi);
        for (int i = 0; i < paths; ++i) {
            const double a = (2 * std::numbers::pi * i + angle(random_)) / paths;
            shift_[static_cast<std::size_t>(i)] = c.doppler_hz * std::cos(a);
            phase_[static_cast<std::size_t>(i)] = angle(random_);
        }
    }

    channel_settings set;

    std::complex<double> gain_at(std::int64_t t) const {
        if (set.doppler_hz == 0) return 1;
        const double seconds = static_cast<double>(t) / static_cast<double>(sample_rate_hz);
        std::complex<double> g{};
        for (std::size_t i = 0; i < paths; ++i)
            g += std::polar(1.0 / std::sqrt(double{paths}),
                            2 * std::numbers::pi * shift_[i] * seconds + phase_[i]);
        return g;
    }

    std::vector<cf32> pass(const std::vector<cf32>& in) {
        const double a = static_cast<double>(symbol_amplitude());
        // An element of energy a^2 needs fft_size times that in noise power for SNR 1.
        const double sigma = a * std::sqrt(fft_size / 2.0) * std::pow(10, -set.snr_db / 20);
        std::normal_distribution<double> noise(0, sigma);
        const double gain = std::pow(10, set.gain_db / 20);
        std::vector<cf32> out;
        out.reserve(in.size());
        std::complex<double> h = gain_at(time_);
        for (const auto v : in) {
            late_.push_back(v);
            const std::complex<double> x(late_.front());
            late_.pop_front();
            if (time_ % 64 == 0) h = gain_at(time_);
            auto turned = h * x;
            if (set.cfo_hz != 0)
                turned *= std::polar(1.0, 2 * std::numbers::pi * set.cfo_hz *
                                              static_cast<double>(time_ % sample_rate_hz) /
                                              static_cast<double>(sample_rate_hz));
            ++time_;
            out.push_back(
                cf32(gain * (turned + std::complex<double>(noise(random_), noise(random_)))));
        }
        return out;
    }

private:
    static constexpr int paths = 32;
    std::mt19937_64 random_;
    std::deque<cf32> late_;
    std::int64_t time_ = 0;
    std::array<double, paths> shift_{}, phase_{};
};

// Computes near x[n] + far x[n - delay] slot by slot; the delay is shorter than a slot.
class two_paths {
public:
    explicit two_paths(std::size_t delay) : delay_(delay), line_(delay + slot_samples) {}

    std::vector<cf32> pass(const std::vector<cf32>& x, float near, float far) {
        std::copy(line_.end() - static_cast<std::ptrdiff_t>(delay_), line_.end(), line_.begin());
        std::copy(x.begin(), x.end(), line_.begin() + static_cast<std::ptrdiff_t>(delay_));
        std::vector<cf32> y(slot_samples);
        for (std::size_t n = 0; n < y.size(); ++n) y[n] = near * x[n] + far * line_[n];
        return y;
    }

private:
    std::size_t delay_;
    std::vector<cf32> line_;  // the last `delay` samples, then the slot
};

}  // namespace wip::phy::test
