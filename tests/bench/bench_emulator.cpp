// SPDX-License-Identifier: GPL-3.0-or-later
// Cost of the emulator: processor time of a slot with full queues (channel, prediction, frame
// errors, both MACs), as share of the slot's 666.7 us and as times real time, on the reference
// channel at 16 dB. JSON on standard output; a first argument sets the number of seconds (default
// 20).
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <vector>

#include "bench_length.h"
#include "bench_support.h"
#include "emulator/emulator_config.h"

namespace {

using namespace wip;
using namespace wip::emulator;
using bench::cpu_seconds;
using bench::full_packet;

void run(const char* errors, int bins, int seconds, bool last) {
    config::settings s(emulator_keys());
    s.merge_assignment("channel.model=jakes");
    s.merge_assignment(std::string("channel.errors=") + errors);
    s.merge_assignment("link.bins=" + std::to_string(bins));
    const emulator_config config = translate(s);
    emulated_cell cell(config.cell, make_sources(config));
    const auto packet = full_packet();
    std::uint64_t bytes = 0;
    cell.deliver_to([&](emulated_cell::side, int, std::span<const std::uint8_t> p, std::int64_t) {
        bytes += p.size();
    });
    const double t0 = cpu_seconds();
    const std::int64_t slots = seconds * slots_per_second;
    for (slot k; k.value < slots; ++k) {
        while (cell.into_queue(0, packet)) {
        }
        cell.run_slot(k);
        cell.release(INT64_MAX);
    }
    const double cpu = cpu_seconds() - t0;
    std::printf(
        "    {\"errors\": \"%s\", \"bins\": %d, \"slots\": %lld, \"mbps\": %.2f, \"slot_us\": "
        "%.2f, "
        "\"core_share\": %.4f, \"times_real_time\": %.1f}%s\n",
        errors, bins, static_cast<long long>(slots), static_cast<double>(bytes) * 8 / seconds / 1e6,
        cpu / static_cast<double>(slots) * 1e6, cpu / seconds, seconds / cpu, last ? "" : ",");
}

}  // namespace

int main(int argc, char** argv) {
    const int seconds = bench::length(argc, argv, "seconds", 20, 1);
    std::printf("{\"bench\": \"emulator\", \"budget_us\": 666.667, \"results\": [\n");
    for (const char* errors : {"symbols", "computed"})
        for (const int bins : {10, 25}) run(errors, bins, seconds, errors[0] == 'c' && bins == 25);
    std::printf("]}\n");
    return 0;
}
