// SPDX-License-Identifier: GPL-3.0-or-later
// wip_machine: what the launcher has to know of the machine before it places the slot path, as JSON
// on standard output. It takes some ten milliseconds.
#include <cstdio>
#include <exception>

#include "runtime/wake_up_cost.h"

int main() {
    using namespace wip::runtime;
    try {
        const auto cores = usable_cores();
        std::printf("{\"cores\": [");
        for (std::size_t i = 0; i < cores.size(); ++i) std::printf("%s%d", i ? ", " : "", cores[i]);
        const auto print = [](const char* key, int a, int b) {
            const auto cost = measure_wake_up(a, b);
            std::printf(", \"%s\": {\"round_trip_us\": %.1f, \"processor_us\": %.1f}", key,
                        cost.round_trip_us, cost.processor_us);
        };
        std::printf("]");
        print("same_core", cores.back(), cores.back());
        if (cores.size() > 1) print("other_core", cores.back(), cores[cores.size() - 2]);
        std::printf("}\n");
    } catch (const std::exception& e) {
        std::fprintf(stderr, "wip_machine: %s\n", e.what());
        return 1;
    }
}
