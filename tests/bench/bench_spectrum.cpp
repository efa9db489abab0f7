// SPDX-License-Identifier: GPL-3.0-or-later
// The cost of the spectrum of the received samples: in the slot path, where a slot of samples is
// copied now and then, and in the thread that makes it. Three receivers take the same slots by
// turns: one without a spectrum, one whose spectrum is wanted ten times a second, and one whose
// spectrum is wanted in every slot (and is made in every 50th). The wall clock is kept (1500
// slots/s), so that the thread has the time between slots that it has in a cell. JSON on standard
// output, with the budgets:
//
//   slot path  1 % of a slot in the mean, and 10 % in the slots that copy (median)
//   thread     1 % of a core at 30 spectra a second
//
//   bench_spectrum [slots]     default 15000: 10 s
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <thread>
#include <vector>

#include "../curves/curve_world.h"
#include "bench_length.h"
#include "slot_times.h"
#include "spectrum_thread.h"

namespace {

using namespace wip;
using namespace wip::phy;
using namespace wip::phy::test;
using bench::slot_times;

constexpr double mean_budget = 0.01 * bench::slot_budget_us,
                 copying_budget = 0.1 * bench::slot_budget_us, core_budget = 0.01;

struct measured_receiver {
    const char* what;
    std::int64_t wanted_every_slots;  // a spectrum is wanted once in so many slots; 0: never
    slot_receiver receiver{{}};
    std::unique_ptr<spectrum_thread> spectra = wanted_every_slots > 0
                                                   ? std::make_unique<spectrum_thread>()
                                                   : nullptr;
    // Times of the spectrum alone, in all slots and in those that copied samples for it.
    slot_times spectrum_times = {}, copying_times = {};
    slot_times total_times = {};  // times of receiver and spectrum together
    std::uint64_t made = 0;
    std::vector<float> seen = std::vector<float>(iq::power_spectrum::nof_points);

    void take(sample first, std::span<const cf32> in) {
        total_times.measure([&] {
            bool copies = false;
            double us = 0;
            if (spectra) {
                slot_times t;
                t.measure([&] { copies = spectra->samples(first, in); });
                us += t.last();
            }
            receiver.process(first, in, [&](const received_slot& s) {
                if (!spectra) return;
                slot_times t;
                t.measure([&] {
                    const std::int64_t air = slot_of(s.start).value;
                    spectra->on_slot(air, wanted_every_slots);
                    if (air % wanted_every_slots != 0) return;
                    const auto found = spectra->take();
                    std::ranges::copy(found, seen.begin());
                    made += !found.empty();
                });
                us += t.last();
            });
            if (!spectra) return;
            spectrum_times.add(us);
            if (copies) copying_times.add(us);
        });
    }
};

void print(const char* what, const slot_times& t) {
    std::printf("  {\"what\": \"%s\", ", what);
    t.print();
    std::printf("},\n");
}

}  // namespace

int main(int argc, char** argv) {
    const int slots = bench::length(argc, argv, "slots", 15000, 1500);
    curves::world w({.snr_db = 40, .bits_per_symbol = 8});
    measured_receiver without{"receiver", 0}, seldom{"receiver and spectrum, 10/s", 150},
        often{"receiver and spectrum, in every slot", 1};
    const auto begun = std::chrono::steady_clock::now();
    for (int i = 0; i < slots; ++i) {
        const auto due = begun + std::chrono::microseconds(static_cast<std::int64_t>(
                                     static_cast<double>(i) * bench::slot_budget_us));
        std::this_thread::sleep_until(due);
        w.next();
        for (auto* s : {&without, &seldom, &often}) s->take(first_sample(w.now()), w.noisy);
    }
    iq::power_spectrum spectrum;
    slot_times thread;
    std::vector<float> dbfs(iq::power_spectrum::nof_points);
    for (int i = 0; i < 1000; ++i)
        thread.measure([&] {
            spectrum.work(w.noisy, std::span<float, iq::power_spectrum::nof_points>(dbfs));
        });
    // least_distance: slots between two spectra at least, so that 30 a second are made at most.
    const double core_share =
        thread.mean() * 1e-6 * slots_per_second / spectrum_thread::least_distance;
    std::printf(
        "{\"benchmark\": \"spectrum\", \"budget_us\": %.1f, \"mean_budget_us\": %.2f, "
        "\"copying_budget_us\": %.1f, \"thread_budget_core_share\": %.3f, \"results\": [\n",
        bench::slot_budget_us, mean_budget, copying_budget, core_budget);
    for (auto* s : {&without, &seldom, &often}) print(s->what, s->total_times);
    print("spectrum in the slot path, 10/s", seldom.spectrum_times);
    print("spectrum in the slot path, in every slot", often.spectrum_times);
    print("... of them slots that copy", often.copying_times);
    print("thread, one spectrum", thread);
    std::printf("  {\"what\": \"thread, 30/s\", \"core_share\": %.4f}],\n", core_share);
    const bool good = seldom.spectrum_times.mean() <= mean_budget &&
                      often.spectrum_times.mean() <= mean_budget &&
                      often.copying_times.median() <= copying_budget && core_share <= core_budget;
    std::printf("  \"spectra\": [%llu, %llu], \"within_budget\": %s}\n",
                static_cast<unsigned long long>(seldom.made),
                static_cast<unsigned long long>(often.made), good ? "true" : "false");
    return seldom.made > 0 && often.made > 0 ? 0 : 1;
}
