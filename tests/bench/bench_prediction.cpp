// SPDX-License-Identifier: GPL-3.0-or-later
// Time of one slot of each predictor, 25 bins, three slots ahead, on typical urban at 75 km/h. JSON
// on standard output.
//   bench_prediction [slots]     default 3000 for each
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "../unit/phy/simulated_gains.h"
#include "bench_length.h"

int main(int argc, char** argv) {
    using namespace wip;
    using namespace wip::phy;
    using timer = std::chrono::steady_clock;
    const int slots = bench::length(argc, argv, "slots", 3000, 500);
    test::gains channel(1);
    std::vector<bin_measurement> measured;
    for (int i = 0; i < slots; ++i) measured.push_back(channel.next(125));
    std::printf("{\"benchmark\": \"prediction\", \"bins\": %d, \"horizon\": 3, \"results\": [\n",
                nof_bins);
    for (const auto name : predictor_names) {
        snr_predictor predictor(3, name);
        std::array<float, nof_bins> out{};
        std::vector<double> us;
        for (const auto& m : measured) {
            const auto start = timer::now();
            predictor.update(m, out);
            us.push_back(std::chrono::duration<double, std::micro>(timer::now() - start).count());
        }
        us = {us.begin() + 250, us.end()};  // only the slots after the predictor has learned
        std::sort(us.begin(), us.end());
        std::printf(
            "  {\"what\": \"%s\", \"least_us\": %.2f, \"median_us\": %.2f, \"p99_us\": %.2f}%s\n",
            name.data(), us.front(), us[us.size() / 2], us[us.size() * 99 / 100],
            name == predictor_names.back() ? "" : ",");
    }
    std::printf("]}\n");
}
