// SPDX-License-Identifier: GPL-3.0-or-later
// One thing again and again, for a profiler:
//   perf record build/tests/bench/profile_slot rx [seconds] [bits_per_symbol snr_db]
//   rx     the receiver on 600 slots of typical urban at 75 km/h, made before; each time it begins
//          with the acquisition (4 of 600 slots)
//   tx     the modulator, 25 bins
//   path   typical urban at 75 km/h and noise, on one slot
// The share of everything else (making the input) falls with the seconds. Says what a slot took.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "../curves/curve_world.h"

namespace {

using namespace wip;
using timer = std::chrono::steady_clock;

double seconds_since(timer::time_point t) {
    return std::chrono::duration<double>(timer::now() - t).count();
}

void report(const char* what, double seconds, std::int64_t slots) {
    std::printf("%s: %lld slots, %.2f us each\n", what, static_cast<long long>(slots),
                1e6 * seconds / static_cast<double>(slots));
}

void receive(double seconds, int k, double snr_db) {
    constexpr int slots = 600;  // slots that are made in advance
    curves::world w(
        {.profile = "jakes", .doppler_hz = 125, .snr_db = snr_db, .bits_per_symbol = k, .seed = 3});
    std::vector<std::vector<phy::cf32>> noisy;
    const std::int64_t first = curves::first_slot;
    for (int i = 0; i < slots; ++i) {
        w.next();
        noisy.push_back(w.noisy);
    }
    phy::slot_receiver receiver({});
    std::int64_t done = 0, good = 0, frames = 0;
    const auto count = [&](const phy::received_slot& s) {
        for (const auto& b : s.bins) {
            good += b.outcome == frame_outcome::good;
            frames += b.outcome != frame_outcome::unused;
        }
    };
    const auto start = timer::now();
    while (seconds_since(start) < seconds)
        for (int i = 0; i < slots; ++i, ++done)
            receiver.process(first_sample(slot(first + i)), noisy[static_cast<std::size_t>(i)],
                             count);
    report("rx", seconds_since(start), done);
    std::printf("frame error rate %.3f\n",
                1 - static_cast<double>(good) / static_cast<double>(frames));
}

void transmit(double seconds, int k) {
    phy::test::slot_source source(k);
    phy::slot_modulator modulator({});
    const auto s = source.make(slot(curves::first_slot));
    std::array<std::span<const std::uint8_t>, nof_bins> views;
    for (std::size_t b = 0; b < nof_bins; ++b) views[b] = s.payload[b];
    std::vector<phy::cf32> out(slot_samples);
    std::int64_t done = 0;
    const auto start = timer::now();
    for (; seconds_since(start) < seconds; ++done)
        modulator.work(s.air, s.grant, views,
                       std::span<phy::cf32, slot_samples>(out.data(), slot_samples));
    report("tx", seconds_since(start), done);
}

void pass(double seconds) {
    sample_model::tapped_delay_line line(profiles::load("jakes"), 125,
                                         sample_model::stage_context{.seed = 1});
    sample_model::noise noise(0.001, 1);
    std::vector<phy::cf32> in(slot_samples, phy::cf32(0.1F, 0.1F)), out(slot_samples);
    std::int64_t done = 0;
    const auto start = timer::now();
    for (; seconds_since(start) < seconds; ++done) {
        line.work(done * slot_samples, in, out);
        noise.work(out, out);
    }
    report("path", seconds_since(start), done);
}

}  // namespace

int main(int argc, char** argv) {
    const double seconds = argc > 2 ? std::atof(argv[2]) : 5;
    const int k = argc > 3 ? std::atoi(argv[3]) : 6;
    const double snr_db = argc > 4 ? std::atof(argv[4]) : 34;
    const char* what = argc > 1 ? argv[1] : "";
    if (!(seconds > 0) || k < 1 || k > 8) what = "";
    if (std::strcmp(what, "rx") == 0) {
        receive(seconds, k, snr_db);
    } else if (std::strcmp(what, "tx") == 0) {
        transmit(seconds, k);
    } else if (std::strcmp(what, "path") == 0) {
        pass(seconds);
    } else {
        std::fprintf(stderr,
                     "usage: profile_slot rx|tx|path [seconds] [bits_per_symbol 1..8] [snr_db]\n");
        return 2;
    }
}
