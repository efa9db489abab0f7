// SPDX-License-Identifier: GPL-3.0-or-later
// wip_machine: what the launcher has to know of the machine before it places the slot path, as JSON
// on standard output. It takes some ten milliseconds.
//   wip_machine standstills CORE MS    until standard input ends; then the gaps of MS or more
#include <sched.h>

#include <chrono>
#include <cstdio>
#include <cstring>
#include <exception>

#include "os/standstills.h"
#include "os/wake_up_cost.h"
#include "types/number_text.h"

int main(int argc, char** argv) {
    using namespace wip::os;
    try {
        if (argc == 4 && std::strcmp(argv[1], "standstills") == 0) {
            const auto core = wip::read_number<int>(argv[2]);
            const auto ms = wip::read_number<double>(argv[3]);
            if (!core || *core < 0 || *core >= CPU_SETSIZE || !ms || *ms < 0.001 || *ms > 1e6) {
                std::fprintf(stderr,
                             "wip_machine: standstills %s %s; valid: a core 0..%d, and 0.001 to "
                             "1000000 ms\n",
                             argv[2], argv[3], CPU_SETSIZE - 1);
                return 2;
            }
            const std::chrono::duration<double, std::milli> least(*ms);
            const auto found =
                watch_core(*core, std::chrono::duration_cast<standstills::duration>(least));
            std::printf("%s\n", found.json().c_str());
            return 0;
        }
        if (argc != 1) {
            std::fprintf(stderr, "usage: wip_machine [standstills CORE MS]\n");
            return 2;
        }
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
