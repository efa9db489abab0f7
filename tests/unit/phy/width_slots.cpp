// SPDX-License-Identifier: GPL-3.0-or-later
// Prints the receiver's reports about the slots of four worlds, one line a slot: world, lock,
// outcome of each bin, then its SNR measured and predicted. test_widths.py compares the output of
// builds for several processors.
#include <cstdio>

#include "../../curves/curve_world.h"

int main() {
    using namespace wip;
    const curves::world_config worlds[] = {
        {.snr_db = 12, .bits_per_symbol = 2},
        {.profile = "jakes", .doppler_hz = 125, .snr_db = 16, .bits_per_symbol = 2, .seed = 3},
        {.profile = "jakes", .doppler_hz = 125, .snr_db = 34, .bits_per_symbol = 6, .seed = 4},
        {.profile = "eva", .doppler_hz = 5, .snr_db = 25, .bits_per_symbol = 4, .seed = 5}};
    int number = 0;
    for (const auto& config : worlds) {
        curves::world w(config);
        phy::slot_receiver receiver({});
        for (int i = 0; i < 500; ++i) {
            w.next();
            curves::feed(receiver, w, [&](const phy::received_slot& r) {
                std::printf("%d %d", number, r.locked ? 1 : 0);
                for (const auto& b : r.bins) std::printf(" %d", static_cast<int>(b.outcome));
                for (const float v : r.snr_db) std::printf(" %.9g", static_cast<double>(v));
                for (const float v : r.predicted_snr_db)
                    std::printf(" %.9g", static_cast<double>(v));
                std::printf("\n");
            });
        }
        ++number;
    }
}
