// SPDX-License-Identifier: GPL-3.0-or-later
// wip_machine: what the launcher has to know of the machine before it places the slot path, as JSON
// on standard output. It takes some ten milliseconds.
//   wip_machine stalls CORE MS    until standard input ends; then the gaps of MS or more
#include <sched.h>

#include <chrono>
#include <cstdio>
#include <cstring>
#include <exception>
#include <nlohmann/json.hpp>

#include "os/stalls.h"
#include "os/wake_up_cost.h"
#include "types/number_text.h"

namespace {

using namespace wip::os;

nlohmann::json json_of(const stalls::sums& s) {
    const auto ms = [](auto d) { return std::chrono::duration<double, std::milli>(d).count(); };
    return {{"count", s.count}, {"longest_ms", ms(s.longest)}, {"together_ms", ms(s.together)}};
}

nlohmann::json json_of(const stalls& found) {
    auto out = json_of(found.all());
    out["least_ms"] = std::chrono::duration<double, std::milli>(found.least()).count();
    out["held_back"] = json_of(found.held_back());
    return out;
}

nlohmann::json cost(int from, int to) {
    const auto measured = measure_wake_up(from, to);
    return {{"round_trip_us", measured.round_trip_us}, {"processor_us", measured.processor_us}};
}

}  // namespace

int main(int argc, char** argv) {
    try {
        if (argc == 4 && std::strcmp(argv[1], "standstills") == 0) {
            const auto core = wip::read_number<int>(argv[2]);
            const auto ms = wip::read_number<double>(argv[3]);
            if (!core || *core < 0 || *core >= CPU_SETSIZE || !ms || *ms < 0.001 || *ms > 1e6) {
                std::fprintf(stderr,
                             "wip_machine: the arguments of standstills are %s %s; valid: a core "
                             "0..%d, and a duration of 0.001..1000000 ms\n",
                             argv[2], argv[3], CPU_SETSIZE - 1);
                return 2;
            }
            const std::chrono::duration<double, std::milli> least(*ms);
            const auto found =
                watch_core(*core, std::chrono::duration_cast<stalls::duration>(least));
            std::printf("%s\n", json_of(found).dump().c_str());
            return 0;
        }
        if (argc != 1) {
            std::fprintf(stderr, "usage: wip_machine [standstills CORE MS]\n");
            return 2;
        }
        const auto cores = usable_cores();
        nlohmann::json out{{"cores", cores}, {"same_core", cost(cores.back(), cores.back())}};
        if (cores.size() > 1) out["other_core"] = cost(cores.back(), cores[cores.size() - 2]);
        std::printf("%s\n", out.dump().c_str());
    } catch (const std::exception& e) {
        std::fprintf(stderr, "wip_machine: %s\n", e.what());
        return 1;
    }
}
