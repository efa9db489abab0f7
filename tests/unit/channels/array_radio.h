// SPDX-License-Identifier: GPL-3.0-or-later
// Radios of a fader that are arrays, and a fader between two of them.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <random>
#include <vector>

#include "fader/fader.h"
#include "types/grid.h"

namespace wip::cabled::test {

inline constexpr tick beginning = 3 * slot_samples;

inline std::vector<cf32> random_samples(std::size_t n, unsigned seed) {
    std::mt19937 random(seed);
    std::normal_distribution<float> normal(0, 0.1f);
    std::vector<cf32> x(n);
    for (auto& v : x) v = {normal(random), normal(random)};
    return x;
}

// Receives what it was given, in packets of any size, and keeps what is sent.
struct array_radio final : fading_radio {
    explicit array_radio(std::vector<cf32> x = {}) : in(std::move(x)) {}

    void start(tick time, bool r, bool t) override {
        EXPECT_EQ(time, begins);
        receives = r, transmits = t;
    }
    received receive(std::span<cf32> out) override {
        if (lost_at && at >= *lost_at) {
            at += lost_for;
            lost_at.reset();
            return {received::lost, 0, 0};
        }
        if (silent_at && at >= *silent_at && nof_silent-- > 0) {
            passed += clock_goes_on ? wait : 0;
            at_silence();
            return {};
        }
        std::size_t n = std::min(out.size(), 1 + static_cast<std::size_t>(random() % 700));
        n = std::min(n, in.size() - static_cast<std::size_t>(at));
        if (lost_at) n = std::min(n, static_cast<std::size_t>(*lost_at - at));
        if (n == 0) {
            at_end();
            return {};
        }
        std::copy_n(in.begin() + at, n, out.begin());
        at += static_cast<tick>(n);
        return {received::samples, begins + passed + at - static_cast<tick>(n), n};
    }
    void send(tick time, std::span<const cf32> x) override {
        EXPECT_EQ(time, begins + static_cast<tick>(sent.size()));
        sent.insert(sent.end(), x.begin(), x.end());
    }
    events take_events() override { return std::exchange(happened, {}); }
    tick now() override { return begins + passed + at; }

    static constexpr tick wait = 768000;  // samples: a tenth of a second
    std::vector<cf32> in, sent;
    std::optional<tick> silent_at;
    int nof_silent = 0;  // number of waits
    bool clock_goes_on = true;
    tick passed = 0;  // samples that passed in silence
    std::function<void()> at_silence = [] {};
    tick begins = beginning, at = 0, lost_for = 0;
    std::optional<tick> lost_at;
    bool receives = false, transmits = false;
    events happened;
    std::mt19937 random{7};
    std::function<void()> at_end = [] {};
};

inline fader_setup one_way(tick delay = 4000, tick chunk = 1280) {
    fader_setup s;
    s.delay = delay;
    s.sounds = false;
    s.chunk = chunk;
    s.mix.seed = 5;
    s.mix.nodes = {{"base", {}}, {"terminal", -40.0}};
    mix::path_config p{.from = 0, .to = 1, .gain_db = -3, .delay_samples = 9};
    p.channel = sample_model::channel_config{};
    p.channel->profile.taps = {{0, 0, sample_model::tap_fading::rayleigh},
                               {1e-6, -3, sample_model::tap_fading::rayleigh}};
    p.channel->movement.path = sample_model::constant_speed{125};
    s.mix.paths = {p};
    return s;
}

}  // namespace wip::cabled::test
