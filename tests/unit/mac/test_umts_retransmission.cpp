// SPDX-License-Identifier: GPL-3.0-or-later
// How long a PDU that was lost waits for its retransmission: Teyeb 2006, figure 5.16, 180, 200 and
// 220 ms with a status prohibit of 50, 100 and 150 ms. 100 kB at once over umts-384, 100 times,
// 10 % of the blocks lost. Limit: 15 %. And 300 ms where a PDU is sent once: only for the sake of
// the poll, when its timer of 300 ms is over.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdio>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "umts/bearer.h"
#include "umts/pdu.h"

namespace wip::umts {
namespace {

constexpr std::int64_t ms = 1'000'000;
constexpr int downloads = 100, packets = 69;  // of 1500 bytes: 100 kB

void run_to(bearer& b, std::int64_t t) {
    while (b.next_wakeup() <= t) b.advance(b.next_wakeup());
    b.advance(t);
}

struct delays {
    double mean_ms = 0;
    int losses = 0;
    // share of the transmissions that repeat a PDU which is on its way or has arrived
    double again = 0;
};

// Delays from the interval in which a PDU is sent for the first time, and lost, to that in which it
// is sent again.
delays of_prohibit(int prohibit_ms, int max_dat = 10) {
    bearer_config c;
    c.profile = *find_bearer_profile("umts-384");
    c.errors_down.rate = 0.1;
    c.rlc.max_dat = max_dat;
    c.rlc.status_prohibit_ns = prohibit_ms * ms;
    c.seed = 16;
    bearer b(c);
    struct pdu_history {
        std::int64_t first_ns = 0;
        int times = 0;
        bool lost = false, there = false;
    };
    // PDUs by number; after a second the same number is a new PDU
    std::map<std::int64_t, pdu_history> sent;
    double sum = 0;
    int n = 0, in_vain = 0, all = 0;
    pdu_content content(42);
    b.watch([&](bearer::way w, std::span<const std::uint8_t> pdu, std::int64_t at_ns, bool lost) {
        if (w != bearer::way::down || !read_pdu(data_mode::acknowledged, pdu, content)) return;
        pdu_history& h = sent[content.sn];
        if (h.times > 0 && at_ns - h.first_ns > 2500 * ms) h = {};
        if (h.times == 0) h = {at_ns, 0, lost, false};
        if (h.times == 1 && h.lost) sum += static_cast<double>(at_ns - h.first_ns) / ms, ++n;
        in_vain += h.there ? 1 : 0;
        h.there |= !lost;
        ++h.times, ++all;
    });
    const std::vector<std::uint8_t> packet(1500, 0x45);
    for (int i = 0; i < downloads; ++i) {
        run_to(b, i * 10'000 * ms);
        for (int k = 0; k < packets; ++k) b.downlink().offer(packet, i * 10'000 * ms);
    }
    run_to(b, downloads * 10'000 * ms);
    if (max_dat > 1) {
        EXPECT_EQ(b.downlink().sums().delivered.packets, downloads * packets);
    }
    return {sum / n, n, static_cast<double>(in_vain) / all};
}

TEST(Retransmission, ComesAfter180To220MillisecondsByTheProhibit) {
    std::map<int, delays> found;
    for (const auto& [prohibit_ms, text_ms] :
         std::map<int, double>{{50, 180}, {100, 200}, {150, 220}}) {
        const delays d = found[prohibit_ms] = of_prohibit(prohibit_ms);
        std::printf("prohibit %d ms: %.1f ms from the loss of %d PDUs, %.1f %% sent in vain\n",
                    prohibit_ms, d.mean_ms, d.losses, 100 * d.again);
        EXPECT_NEAR(d.mean_ms, text_ms, 0.15 * text_ms) << prohibit_ms;
    }
    // Shorter than the way of a retransmission, it asks for what is coming.
    EXPECT_GT(found[50].again, 2 * found[100].again);
}

TEST(Retransmission, OfAPduThatIsSentOnceComesWithThePollTimer) {
    for (const int prohibit_ms : {50, 100, 150}) {
        const delays d = of_prohibit(prohibit_ms, 1);
        std::printf("one transmission, prohibit %d ms: %.1f ms, %d times\n", prohibit_ms, d.mean_ms,
                    d.losses);
        EXPECT_NEAR(d.mean_ms, 300, 45) << prohibit_ms;
    }
}

// Lundsten's bearers: 60 ms from the end of a block that is lost to that with its PDU again, with
// the delay that the profile has on the air, and with none (his split at 30 ms).
TEST(Retransmission, LundstensBeginsSixtyMillisecondsAfterTheLoss) {
    for (const auto& [one_way_ms, radio_ms] : {std::pair(135.0, 10.0), {40.0, 10.0}, {30.0, 0.0}}) {
        bearer_config c;
        c.profile = *find_bearer_profile("lundsten-384");
        c.profile.one_way_ms = one_way_ms;
        c.profile.radio_ms = radio_ms;
        c.rlc.status_prohibit_ns = 60 * ms;
        c.errors_down.runs = {3, 1, 1000};
        bearer b(c);
        std::map<int, std::vector<std::int64_t>> sent;
        pdu_content content(962);
        b.watch([&](bearer::way w, std::span<const std::uint8_t> pdu, std::int64_t at_ns, bool) {
            if (w == bearer::way::down && read_pdu(data_mode::acknowledged, pdu, content))
                sent[content.sn].push_back(at_ns);
        });
        for (int i = 0; i < 20; ++i) b.downlink().offer(std::vector<std::uint8_t>(960, 0x45), 0);
        run_to(b, 2000 * ms);
        ASSERT_EQ(sent[3].size(), 2U) << one_way_ms;
        EXPECT_EQ(sent[3][1] - sent[3][0], (20 + 60) * ms) << one_way_ms;
    }
}

}  // namespace
}  // namespace wip::umts
