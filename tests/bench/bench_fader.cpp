// SPDX-License-Identifier: GPL-3.0-or-later
// Processor time of the fader, as share of a core at 7.68 MS/s: reception into its ring, channel,
// noise and hand-over to the transmitter, between radios that cost a copy; and of a terminal that
// listens for soundings where a carrier is just so weak that it is now and then taken for one.
// JSON on standard output.
//
//   bench_fader [slots]     default 3000
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <functional>

#include "bench_length.h"
#include "bench_support.h"
#include "fader/fader.h"
#include "fader/known_burst.h"
#include "profiles/channel_definition.h"
#include "sample/noise.h"
#include "types/grid.h"

using namespace wip;
using namespace wip::cabled;

namespace {

constexpr double budget_per_path = 0.12, budget_of_listening = 0.1;  // share of a core

// Gives the same slot again and again, at once, and takes what is sent.
struct copying_radio final : fading_radio {
    void start(tick time, bool, bool) override { at = time; }
    received receive(std::span<cf32> out) override {
        std::copy_n(signal.begin() + at % slot_samples % (slot_samples - 1280), out.size(),
                    out.begin());
        at += static_cast<tick>(out.size());
        return {received::samples, at - static_cast<tick>(out.size()), out.size()};
    }
    void send(tick, std::span<const cf32> x) override {
        std::copy(x.begin(), x.end(), sent.begin());
        if (--left == 0) end();
    }
    events take_events() override { return {}; }
    tick now() override { return at; }

    std::vector<cf32> signal = std::vector<cf32>(slot_samples), sent = signal;
    tick at = 0, left = 0;
    std::function<void()> end = [] {};
};

// A definition, or the 12 taps that the budget is for: 0.3 us and 1 dB apart.
sample_model::delay_profile profile(const char* channel) {
    if (std::strcmp(channel, "12 taps") != 0) return profiles::load(channel);
    sample_model::delay_profile p;
    for (int k = 0; k < 12; ++k)
        p.taps.push_back({0.3e-6 * k, -1.0 * k, sample_model::tap_fading::rayleigh});
    return p;
}

// An SNR trace in which every slot has another row.
sample_model::trace_config trace() {
    auto rows = std::make_shared<sample_model::trace_rows>(1500);
    for (std::size_t t = 0; t < rows->size(); ++t)
        for (std::size_t b = 0; b < nof_bins; ++b)
            (*rows)[t][b] = static_cast<float>(
                16 + 8 * std::sin(0.3 * static_cast<double>(t) + 0.5 * static_cast<double>(b)));
    return {rows, 34};
}

// Share of a core that this number of paths takes, whose directions alternate.
double share(int nof_paths, const char* channel, int slots) {
    fader_setup s;
    s.chunk = 1280;
    s.delay = 10240;
    s.mix.nodes = {{"a", -40.0}, {"b", -40.0}};
    for (int i = 0; i < nof_paths; ++i) {
        mix::path_config p;
        p.from = static_cast<std::size_t>(i % 2);
        p.to = 1 - p.from;
        p.user = static_cast<std::uint32_t>(i);
        if (std::strcmp(channel, "trace") == 0) {
            p.trace = trace();
        } else {
            p.channel.emplace().profile = profile(channel);
            p.channel->movement.path = sample_model::constant_speed{125};
        }
        s.mix.paths.push_back(p);
    }
    copying_radio a, b;
    std::vector<cf32> silence(slot_samples);
    sample_model::noise(0.016, 1, 1).work(silence, a.signal);
    b.signal = a.signal;
    fader f(s, {&a, &b});
    b.left = slots * slot_samples / s.chunk;
    b.end = [&f] { f.stop(); };
    const double before = bench::cpu_seconds();
    f.run(slot_samples);
    return (bench::cpu_seconds() - before) / slots * slots_per_second;
}

// Share of a core.
double listening(int slots) {
    constexpr int made = 64;  // slots of samples that are made in advance
    // a correlation of 0.4, the threshold of burst_listener
    constexpr double power = 0.01, carrier = 0.67 * power;
    std::vector<cf32> quiet(std::size_t{made} * slot_samples), x = quiet;
    for (std::size_t n = 0; n < quiet.size(); ++n)
        quiet[n] = cf32(std::polar(std::sqrt(carrier), 0.3 * static_cast<double>(n)));
    sample_model::noise(power, 1, 1).work(quiet, x);
    burst_listener l;
    const double before = bench::cpu_seconds();
    for (int i = 0; i < slots; ++i)
        l.take(
            tick{i} * slot_samples,
            std::span(x).subspan(static_cast<std::size_t>(i % made) * slot_samples, slot_samples),
            [](const heard_burst&) {});
    return (bench::cpu_seconds() - before) / slots * slots_per_second;
}

}  // namespace

int main(int argc, char** argv) {
    const int slots = bench::length(argc, argv, "slots", 3000, 100);
    std::printf("{\"bench\": \"fader\", \"slots\": %d, \"budget_per_path\": %.2f, \"results\": [\n",
                slots, budget_per_path);
    for (const auto& [paths, channel] :
         {std::pair(1, "12 taps"), {2, "12 taps"}, {1, "jakes"}, {1, "etu"}, {1, "trace"}}) {
        const double core = share(paths, channel, slots);
        std::printf(
            "%s  {\"paths\": %d, \"channel\": \"%s\", \"core_share\": %.4f, \"per_path\": %.4f}",
            paths == 1 && std::strcmp(channel, "12 taps") == 0 ? "" : ",\n", paths, channel, core,
            core / paths);
    }
    std::printf("],\n \"listening_budget\": %.2f, \"listening_beside_a_carrier\": %.4f}\n",
                budget_of_listening, listening(slots));
}
