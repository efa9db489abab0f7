// SPDX-License-Identifier: GPL-3.0-or-later
// Packets of 1500 octets that a UMTS bearer of 384 kbit/s gives up after 1 to 4 transmissions, 10 %
// of blocks lost: each alone, and so close together that one takes the next along; alone also where
// what polls repeat is counted, with PDUs of 40 octets and with one a block
// (docs/results/umts.md). Beside each share the half of its 95 % interval, and 1 - (1 - p^m)^N for
// N blocks.
//   rlc_losses [packets]     default 200000 a point; JSON lines
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "umts/bearer.h"

namespace {

using namespace wip;
using namespace wip::umts;

constexpr std::int64_t ms = 1'000'000;
constexpr double p = 0.1;  // probability that a block is lost

void run_to(bearer& b, std::int64_t t) {
    while (b.next_wakeup() <= t) b.advance(b.next_wakeup());
    b.advance(t);
}

struct way {
    int apart_ms, pdu_octets;
    poll_counting poll_counted;
};

double lost_share(const way& w, int max_dat, int packets) {
    const std::int64_t apart_ns = w.apart_ms * ms;
    bearer_config c;
    c.profile = *find_bearer_profile("umts-384");
    c.errors_down.rate = p;
    c.profile.block_down = w.pdu_octets;
    c.rlc.poll_counted = w.poll_counted;
    c.rlc.max_dat = max_dat;
    c.rlc.status_prohibit_ns = 200 * ms;  // longer than the round trip
    c.seed = static_cast<std::uint64_t>(max_dat);
    bearer b(c);
    const std::vector<std::uint8_t> packet(1500, 0x45);
    for (int i = 0; i < packets; ++i) {
        run_to(b, i * apart_ns);
        b.downlink().offer(packet, i * apart_ns);
    }
    run_to(b, packets * apart_ns + 10'000 * ms);
    return 1 - static_cast<double>(b.downlink().sums().delivered.packets) / packets;
}

double of_blocks(int n, int m) { return 100 * (1 - std::pow(1 - std::pow(p, m), n)); }

}  // namespace

int main(int argc, char** argv) {
    const int packets = argc > 1 ? std::atoi(argv[1]) : 200'000;
    if (packets < 1 || packets > 100'000'000) {
        std::fprintf(stderr, "rlc_losses: packets is %s; valid: 1..100000000\n", argv[1]);
        return 2;
    }
    for (const way& w : {way{4000, 40, poll_counting::never},
                         {500, 40, poll_counting::never},
                         {4000, 480, poll_counting::always},
                         {4000, 40, poll_counting::always}})
        for (const int m : {1, 2, 3, 4}) {
            const double lost = lost_share(w, m, packets);
            std::printf(
                "{\"apart_ms\": %d, \"pdu_octets\": %d, \"poll_counted\": %s, "
                "\"transmissions\": %d, \"packets\": %d, \"lost_percent\": %.4f, "
                "\"half_interval\": %.4f, \"of_3_blocks\": %.4f, \"of_4\": %.4f, \"of_5\": "
                "%.4f}\n",
                w.apart_ms, w.pdu_octets,
                w.poll_counted == poll_counting::always ? "true" : "false", m, packets, 100 * lost,
                196 * std::sqrt(lost * (1 - lost) / packets), of_blocks(3, m), of_blocks(4, m),
                of_blocks(5, m));
            std::fflush(stdout);
        }
    return 0;
}
