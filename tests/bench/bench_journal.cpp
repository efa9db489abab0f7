// SPDX-License-Identifier: GPL-3.0-or-later
// The cost of following every packet: processor time of both MACs for a slot, without and with the
// journal, its delivery reports as uplink messages and its records as messages of topic `packet`.
// 25 bins, queue always full. Every record is checked as well: exact sums, every packet once. JSON
// on standard output; a first argument sets the number of slots (default 10000).
#include <time.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "bench_length.h"
#include "link/base_station_mac.h"
#include "link/terminal_mac.h"
#include "station/packet_reports.h"
#include "station/packet_topic.h"
#include "types/slot_time.h"
#include "wire/ip_header.h"

namespace {

using namespace wip;

double cpu_us() {
    timespec t{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return static_cast<double>(t.tv_sec) * 1e6 + static_cast<double>(t.tv_nsec) * 1e-3;
}

std::vector<std::uint8_t> make_packet(std::size_t bytes) {
    std::vector<std::uint8_t> p(bytes, 0x5a);
    const std::uint8_t header[20] = {0x45,
                                     0,
                                     static_cast<std::uint8_t>(bytes >> 8),
                                     static_cast<std::uint8_t>(bytes),
                                     0,
                                     0,
                                     0,
                                     0,
                                     64,
                                     17};
    std::copy(header, header + 20, p.begin());
    const std::uint32_t sum = ~internet_sum(std::span<const std::uint8_t>(p).first(20));
    p[10] = static_cast<std::uint8_t>(sum >> 8);
    p[11] = static_cast<std::uint8_t>(sum);
    return p;
}

struct scenario {
    const char* name;
    std::size_t bytes;
    double frame_error;
    bool in_order;
};

struct result {
    double us = 0;
    std::uint64_t packets = 0, skipped = 0, wrong = 0, open = 0;
};

result run(const scenario& s, int slots, bool follow) {
    link_config c;
    c.bins = nof_bins;
    c.modulation = 8;
    c.in_order = s.in_order;
    c.queue_packets = 200;
    result out;
    base_station_mac base(c);
    terminal_mac terminal(c, [](std::span<const std::uint8_t>, bool) {});
    openwip::telemetry::PacketBatch batch;
    packet_journal journal([&](const packet_record& r) {
        if (r.parts.sum() != r.left_ns - r.arrived_ns) ++out.wrong;
        host::fill_packet(r, 0, *batch.add_packet());
    });
    delivery_log reports(4096);
    openwip::uplink::PacketReports message;
    std::vector<packet_report> read;
    std::string bytes;
    if (follow) {
        terminal.report_to(&reports);
        base.follow_packets(&journal);
    }
    const auto packet = make_packet(s.bytes);
    std::uint64_t x = 88172645463325252ULL;
    const auto uniform = [&x] {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        return static_cast<double>(x >> 11) * 0x1p-53;
    };
    for (int i = 0; i < slots; ++i) {
        const double t0 = cpu_us();
        journal.set_now(slot_start_ns(slot(i)));
        while (base.statistics().queued.packets < 190)
            if (!base.on_sdu(packet, slot(i))) break;
        slot_plan plan = base.plan(slot(i));
        out.us += cpu_us() - t0;
        slot_report r;
        r.air = plan.air;
        r.locked = r.grant_ok = true;
        r.grant = plan.grant;
        r.predicted_snr_db.fill(40.0F);
        for (std::size_t b = 0; b < nof_bins; ++b) {
            if (plan.grant.bins[b].bits_per_symbol == 0) continue;
            r.outcome[b] = uniform() < s.frame_error ? frame_outcome::bad : frame_outcome::good;
            r.payload[b] = std::move(plan.payload[b]);
        }
        const double t1 = cpu_us();
        base.on_feedback(terminal.on_slot(r));
        if (follow) {
            host::write_reports(reports, terminal.decided_before(), 1, message);
            reports.clear();
            message.SerializeToString(&bytes);
            message.ParseFromString(bytes);
            if (host::read_reports(message, slot(i), read) != nullptr) ++out.wrong;
            journal.on_reports(read, message.count(),
                               static_cast<wire_sn>(message.decided_before()), slot(i));
            if (i % 15 == 0) {
                batch.SerializeToString(&bytes);
                batch.Clear();
            }
        }
        out.us += cpu_us() - t1;
    }
    out.us /= slots;
    out.packets = journal.count().recorded;
    out.skipped = journal.count().skipped;
    out.open = journal.count().open();
    return out;
}

}  // namespace

int main(int argc, char** argv) {
    const int slots = bench::length(argc, argv, "slots", 10000, 100);
    const scenario all[] = {{"1500 bytes, no errors", 1500, 0, true},
                            {"1500 bytes, a fifth of the frames fail", 1500, 0.2, true},
                            {"1500 bytes, a fifth fails, as completed", 1500, 0.2, false},
                            {"64 bytes, a fifth of the frames fail", 64, 0.2, true}};
    std::printf(
        "{\"bench\": \"journal\", \"bins\": %d, \"slots\": %d, \"budget_us\": 666.667, "
        "\"results\": [\n",
        nof_bins, slots);
    run(all[0], slots, true);  // warms the caches up
    std::uint64_t wrong = 0;
    for (const auto& s : all) {
        const result off = run(s, slots, false), on = run(s, slots, true);
        wrong += on.wrong;
        std::printf(
            "    {\"scenario\": \"%s\", \"packets_per_second\": %.0f, \"off_us\": %.2f, "
            "\"on_us\": %.2f, \"cost_us\": %.2f, \"cost_percent_of_a_core\": %.3f, "
            "\"records\": %llu, \"open\": %llu, \"skipped\": %llu, \"wrong\": %llu}%s\n",
            s.name, static_cast<double>(on.packets) * 1500 / slots, off.us, on.us, on.us - off.us,
            (on.us - off.us) / 6.66667, static_cast<unsigned long long>(on.packets),
            static_cast<unsigned long long>(on.open), static_cast<unsigned long long>(on.skipped),
            static_cast<unsigned long long>(on.wrong), &s == &all[3] ? "" : ",");
    }
    std::printf("]}\n");
    return wrong == 0 ? 0 : 1;
}
