// SPDX-License-Identifier: GPL-3.0-or-later
// Time of the MAC per slot: plan() of the base station and on_slot() of the terminal, 25 bins,
// queue always full, against the budget of a slot (666.7 us). JSON on standard output; a first
// argument sets the number of slots (default 30000).
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <vector>

#include "bench_length.h"
#include "bench_support.h"
#include "link/base_station_mac.h"
#include "link/terminal_mac.h"

namespace {

using namespace wip;
using clock_type = std::chrono::steady_clock;

double micros(clock_type::duration d) {
    return std::chrono::duration<double, std::micro>(d).count();
}

void print(const char* name, std::vector<double> t, bool last) {
    std::sort(t.begin(), t.end());
    const double median = t[t.size() / 2], p99 = t[t.size() * 99 / 100];
    std::printf(
        "      \"%s\": {\"median_us\": %.2f, \"p99_us\": %.2f, \"worst_us\": %.2f, "
        "\"median_share\": %.5f, \"p99_share\": %.5f}%s\n",
        name, median, p99, t.back(), median / 666.667, p99 / 666.667, last ? "" : ",");
}

struct scenario {
    const char* name;
    int modulation;  // 0: adaptive, with an SNR that varies
    double frame_error;
    bool in_order;
    bool crafted = false;  // the payload is made of packets, and nothing is sent again
};

// A packet whose data is packets of 20 bytes, each with a right header.
std::vector<std::uint8_t> crafted_packet() {
    auto packet = bench::full_packet();
    std::vector<std::uint8_t> inner(packet.begin(), packet.begin() + 20);
    inner[2] = inner[10] = inner[11] = 0;
    inner[3] = 20;
    const std::uint32_t sum = ~internet_sum(inner);
    inner[10] = static_cast<std::uint8_t>(sum >> 8);
    inner[11] = static_cast<std::uint8_t>(sum);
    for (std::size_t at = 20; at + 20 <= packet.size(); at += 20)
        std::copy(inner.begin(), inner.end(), packet.begin() + static_cast<std::ptrdiff_t>(at));
    return packet;
}

void run(const scenario& s, int slots, bool last) {
    link_config c;
    c.bins = nof_bins;
    c.modulation = s.modulation;
    c.in_order = s.in_order;
    if (s.crafted) c.max_retransmissions = 0;
    std::uint64_t bytes = 0;
    base_station_mac base(c);
    terminal_mac terminal(c, [&](std::span<const std::uint8_t> p, bool) { bytes += p.size(); });
    const auto packet = s.crafted ? crafted_packet() : bench::full_packet();
    std::uint64_t x = 88172645463325252ULL;
    const auto uniform = [&x] {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        return static_cast<double>(x >> 11) * 0x1p-53;
    };
    std::array<float, nof_bins> snr;
    snr.fill(20.0F);
    std::vector<double> plan_time, slot_time;
    for (int i = 0; i < slots; ++i) {
        while (base.on_sdu(packet, slot(i))) {
        }
        const auto t0 = clock_type::now();
        slot_plan plan = base.plan(slot(i));
        const auto t1 = clock_type::now();
        slot_report r;
        r.air = plan.air;
        r.locked = r.grant_ok = true;
        r.grant = plan.grant;
        for (std::size_t b = 0; b < nof_bins; ++b) {
            snr[b] = std::clamp(snr[b] + static_cast<float>(2 * (uniform() - 0.5)), 0.0F, 35.0F);
            if (plan.grant.bins[b].bits_per_symbol == 0) continue;
            r.outcome[b] = uniform() < s.frame_error ? frame_outcome::bad : frame_outcome::good;
            r.payload[b] = std::move(plan.payload[b]);
        }
        r.predicted_snr_db = snr;
        const auto t2 = clock_type::now();
        const slot_feedback f = terminal.on_slot(r);
        const auto t3 = clock_type::now();
        base.on_feedback(f);
        plan_time.push_back(micros(t1 - t0));
        slot_time.push_back(micros(t3 - t2));
    }
    std::printf(
        "    {\"scenario\": \"%s\", \"modulation\": %d, \"frame_error\": %.2f, "
        "\"slots\": %d, \"goodput_mbps\": %.2f,\n",
        s.name, s.modulation, s.frame_error, slots,
        static_cast<double>(bytes) * 8 * 1500 / slots / 1e6);
    print("plan", plan_time, false);
    print("on_slot", slot_time, true);
    std::printf("    }%s\n", last ? "" : ",");
}

}  // namespace

int main(int argc, char** argv) {
    const int slots = bench::length(argc, argv, "slots", 30000, 100);
    std::printf("{\"bench\": \"mac\", \"bins\": %d, \"budget_us\": 666.667, \"results\": [\n",
                nof_bins);
    const scenario all[] = {{"no errors", 8, 0, true},
                            {"a fifth of the frames fail", 8, 0.2, true},
                            {"as completed", 8, 0.2, false},
                            {"adaptive, wandering SNR", 0, 0.2, false},
                            {"data made of packets, 1 % given up", 8, 0.01, true, true},
                            {"data made of packets, 5 % given up", 8, 0.05, true, true},
                            {"data made of packets, 30 % given up", 8, 0.3, true, true},
                            {"data made of packets, 30 % given up", 8, 0.3, false, true}};
    for (const auto& s : all) run(s, slots, &s == std::end(all) - 1);
    std::printf("]}\n");
    return 0;
}
