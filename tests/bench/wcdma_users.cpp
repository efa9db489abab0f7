// SPDX-License-Identifier: GPL-3.0-or-later
// Processor time of the whole UMTS link with live WCDMA cells, by the number of terminals: bearers
// in unacknowledged mode at 120 kbit/s, whose packets of 1000 bytes come back to back; each that
// arrives is answered by 40 bytes on the uplink. There is no TCP: that comes on top
// (docs/results/wcdma-tcp.md).
//   wcdma_users [SECONDS]     simulated time, default 60; JSON lines
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <vector>

#include "cells/wcdma_cells.h"
#include "umts/cell.h"

namespace {

using namespace wip;

constexpr std::int64_t ms = 1'000'000;

double processor_s() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

void measure(int terminals, int seconds) {
    cells::cells_config layout;
    layout.users = 160;
    layout.carriers = 3;
    layout.doppler_hz = 20;
    cells::wcdma_cells users(layout, 1);
    umts::bearer_config b;
    b.profile = *umts::find_bearer_profile("smaragdakis-120");
    b.mode = umts::rlc_mode::unacknowledged;
    b.errors_down.model = umts::error_model::external;
    umts::cell_config c;
    c.users = terminals;
    umts::cell link(b, c);
    link.on_advance([&](std::int64_t now_ns) { users.advance_to(now_ns / cells::block_ns); });
    for (int u = 0; u < terminals; ++u)
        link.user(u).set_fates([&users, u](std::int64_t start_ns) {
            users.advance_to(start_ns / cells::block_ns);
            return users.lost(u);
        });
    const std::vector<std::uint8_t> packet(1000, 0x45), answer(40, 0x45);
    std::uint64_t delivered = 0, answered = 0;
    link.downlink().deliver_to([&](const link_packet& p) {
        ++delivered;
        link.uplink().offer(answer, p.due_ns, p.tag);
        return 0;
    });
    link.uplink().deliver_to([&](const link_packet&) {
        ++answered;
        return 0;
    });
    const double before = processor_s();
    // A packet takes 66.7 ms at 120 kbit/s. The terminals begin one after the other.
    std::uint64_t offered = 0;
    const std::int64_t every = 66 * ms;
    for (std::int64_t t = 0; t < seconds * 1000 * ms; t += every)
        for (int u = 0; u < terminals; ++u, ++offered) {
            const std::int64_t at = t + every * u / terminals;
            while (link.next_wakeup() <= at) link.advance(link.next_wakeup());
            link.downlink().offer(packet, at, u);
        }
    const double took = processor_s() - before;
    std::printf(
        "{\"benchmark\": \"wcdma_users\", \"terminals\": %d, \"simulated_s\": %d, \"offered\": "
        "%llu, \"delivered\": %llu, \"answered\": %llu, \"processor_s\": %.3f, "
        "\"times_real_time\": %.0f}\n",
        terminals, seconds, static_cast<unsigned long long>(offered),
        static_cast<unsigned long long>(delivered), static_cast<unsigned long long>(answered), took,
        seconds / took);
    std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
    const int seconds = argc > 1 ? std::atoi(argv[1]) : 60;
    if (seconds < 1 || seconds > 100'000) {
        std::fprintf(stderr, "SECONDS is %s; valid: 1..100000\n", argv[1]);
        return 2;
    }
    for (const int terminals : {1, 7, 25, 160}) measure(terminals, seconds);
    return 0;
}
