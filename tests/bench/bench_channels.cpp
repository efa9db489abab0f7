// SPDX-License-Identifier: GPL-3.0-or-later
// Time of one slot (5120 samples) of every channel model and impairment, against the 667 us that a
// slot lasts. JSON on standard output. The smallest time tells what the code costs, the median what
// it costs on this machine now.
//   bench_channels [slots]     default 1000 for each
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "../support/steady_fading.h"
#include "bench_length.h"
#include "bin/fading_channel.h"
#include "bin/gain_prediction.h"
#include "profiles/channel_definition.h"
#include "sample/flat_fading.h"
#include "sample/noise.h"
#include "sample/stage_chain.h"
#include "sample/tapped_delay_line.h"
#include "slot_times.h"
#include "types/grid.h"

namespace {

using namespace wip;
using namespace wip::sample_model;

bool first_line = true;

template <class Work>
void measure(const std::string& what, int slots, Work work) {
    std::vector<cf32> in(slot_samples), out(slot_samples);
    for (std::size_t i = 0; i < in.size(); ++i)
        in[i] = {static_cast<float>(i % 17) * 0.01f, static_cast<float>(i % 23) * 0.01f};
    bench::slot_times us;
    double sum = 0;
    for (int s = -20; s < slots; ++s) {
        const std::int64_t at = first_sample(slot(1000 + s)).value;
        bench::slot_times one;
        one.measure([&] { work(at, in, out); });
        if (s >= 0) us.add(one.last());
        sum += out[static_cast<std::size_t>(s + 20) % out.size()].real();
    }
    std::printf("%s  {\"what\": \"%s\", \"check\": %.3g, ", first_line ? "" : ",\n", what.c_str(),
                sum);
    us.print();
    std::printf("}");
    first_line = false;
}

}  // namespace

int main(int argc, char** argv) {
    const int slots = bench::length(argc, argv, "slots", 1000, 100);
    const stage_context context{static_cast<double>(sample_rate_hz), 1, 0};
    std::printf("{\"benchmark\": \"channel_slot\", \"budget_us\": %.1f, \"results\": [\n",
                bench::slot_budget_us);
    noise awgn(0.001, 1);
    measure("noise", slots, [&](std::int64_t at, const auto& in, auto& out) {
        awgn.seek(at);
        awgn.work(in, out);
    });
    flat_fading flat(125, context.sample_rate, 1);
    measure("flat fading", slots, [&](std::int64_t at, const auto& in, auto& out) {
        flat.seek(at);
        flat.work(in, out);
    });
    for (const char* name : {"jakes", "etu", "tdl-c"}) {
        const bin_model::fading_config c =
            bin_model::steady_fading(profiles::load(name), 125, db(16), 1);
        bin_model::fading_channel channel(c);
        bin_model::gain_prediction prediction(c, 0.1);
        std::array<float, nof_bins> snr;
        measure(std::string("SNR of 25 bins, ") + name, slots,
                [&](std::int64_t at, const auto&, auto& out) {
                    channel.snr(slot_of(sample(at)), snr);
                    out[0] = snr[0];
                });
        measure(std::string("prediction of given NMSE, ") + name, slots,
                [&](std::int64_t at, const auto&, auto& out) {
                    prediction.predicted_snr(slot_of(sample(at)), snr);
                    out[0] = snr[0];
                });
    }
    for (const char* name : {"jakes", "epa", "eva", "etu", "tdl-a", "tdl-c", "tdl-e"}) {
        tapped_delay_line line(profiles::load(name), 125, context);
        measure(std::string("multipath ") + name, slots,
                [&](std::int64_t at, const auto& in, auto& out) { line.work(at, in, out); });
    }
    tapped_delay_line fast(profiles::load("jakes"), 2000, context);
    measure("multipath jakes, 2 kHz Doppler", slots,
            [&](std::int64_t at, const auto& in, auto& out) { fast.work(at, in, out); });
    tapped_delay_line line(profiles::load("jakes"), 125, context);
    measure("multipath jakes and noise", slots, [&](std::int64_t at, const auto& in, auto& out) {
        line.work(at, in, out);
        awgn.seek(at);
        awgn.work(out, out);
    });
    const std::vector<std::pair<const char*, impairment_config>> impairments{
        {"cfo", cfo_config{3000, 0}},
        {"cfo with drift", cfo_config{3000, 100}},
        {"clock offset", clock_offset_config{5, 0, 65536}},
        {"timing jump", timing_jump_config{10, 0, 0, 0, 4096}},
        {"phase noise", phase_noise_config{100}},
        {"dc offset", dc_offset_config{-40, 30}},
        {"iq imbalance", iq_imbalance_config{30, 45}},
        {"gain step", gain_step_config{6, 0.5, 0.001}},
        {"quantiser", quantiser_config{12, 0}},
        {"gap", gap_config{100, 0.5, 0.01}},
        {"tone", tone_config{-30, 1e6}},
        {"interference", interference_config{-30, 3e5, 1e6}}};
    for (const auto& [what, config] : impairments) {
        stage_chain chain({config}, context);
        measure(what, slots,
                [&](std::int64_t at, const auto& in, auto& out) { chain.work(at, in, out); });
    }
    stage_chain receiver(
        {clock_offset_config{5, 0, 65536}, cfo_config{3000, 0}, iq_imbalance_config{30, 45},
         dc_offset_config{-40, 30}, quantiser_config{12, 0}},
        context);
    measure("receiver of impaired.yaml", slots,
            [&](std::int64_t at, const auto& in, auto& out) { receiver.work(at, in, out); });
    std::printf("\n]}\n");
}
