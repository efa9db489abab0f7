// SPDX-License-Identifier: GPL-3.0-or-later
// Queue disciplines that mark and drop by the time that the queue will take to empty, and the rate
// that the base station expects for it.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <stdexcept>
#include <tuple>
#include <vector>

#include "informed_base_station.h"
#include "link/drain_forecast.h"
#include "queue/dualpi2.h"
#include "queue/pie.h"
#include "queue_packets.h"

namespace wip {
namespace {

using test::informed_base_station;
using test::ms;
using test::udp;
using test::watched_queue;

struct no_drops final : drop_port {
    void drop(queued_packet&&, queue_drop) override {}
};

queued_packet packet(std::int64_t arrived_ns, ecn field = ecn::not_ect) {
    queued_packet p;
    p.data = udp(1000, field);
    p.arrived_ns = arrived_ns;
    return p;
}

// The times at which a packet was marked or dropped as a signal.
std::vector<std::int64_t> signals(const watched_queue& q) {
    std::vector<std::int64_t> at;
    for (const auto& e : q.events)
        if (e.marked || (e.dropped && e.why == queue_drop::managed)) at.push_back(e.at_ns);
    return at;
}

// A packet of 1000 bytes comes and one leaves every millisecond, with so many behind it.
void hold(watched_queue& q, std::size_t packets, std::int64_t until, double bytes_per_s,
          int flows = 1) {
    q.queue.expect(bytes_per_s);
    for (int i = 0; i < static_cast<int>(packets); ++i)
        q.push(udp(1000, ecn::not_ect, i % flows), 0);
    for (std::int64_t t = ms; t < until; t += ms) {
        q.push(udp(1000, ecn::not_ect, static_cast<int>(t / ms) % flows), t);
        q.pop(t);
    }
}

TEST(DrainRate, WithoutOneTheTimeThatAPacketHasWaitedCounts) {
    EXPECT_EQ(drain_rate().delay_ns(7, 1000), 7);
    EXPECT_EQ(drain_rate::of_second(-1).delay_ns(7, 1000), 7);
    EXPECT_EQ(drain_rate::of_second(1e6).delay_ns(7, 1000), ms);
    EXPECT_EQ(drain_rate::of_second(1e6).shared_by(4).delay_ns(7, 1000), 4 * ms);
    EXPECT_EQ(drain_rate::of_second(1e6).shared_by(0).delay_ns(7, 1000), ms);
    EXPECT_EQ(drain_rate::of_second(1e-9).delay_ns(7, 1000), 100'000 * ms);  // 100 s, no overflow
}

TEST(PredictedMarking, CodelGoesByTheTimeThatTheQueueWillTake) {
    // Ten packets wait for 10 ms each.
    const auto first = [](queue_marking marking, double bytes_per_s) {
        watched_queue q({.kind = queue_kind::codel, .marking = marking});
        hold(q, 10, 400 * ms, bytes_per_s);
        const auto at = signals(q);
        return at.empty() ? -1 : at.front() / ms;
    };
    // The time in the queue reaches the target when the fifth one leaves; what is expected does at
    // once, if the rate is so low, and never, if it is high.
    EXPECT_EQ(first(queue_marking::sojourn, 0), 105);
    EXPECT_EQ(first(queue_marking::predicted, 1e6), 101);
    EXPECT_EQ(first(queue_marking::predicted, 4e6), -1);
    // An expectation counts for this marking alone, and without one it is as the RFC has it.
    EXPECT_EQ(first(queue_marking::sojourn, 4e6), 105);
    EXPECT_EQ(first(queue_marking::predicted, 0), 105);
}

TEST(PredictedMarking, FlowsOfFqCodelShareTheRate) {
    // Eight packets of each flow: at 2 MB/s those of one alone would be gone in 4 ms.
    for (const auto& [flows, packets, some] :
         {std::tuple(1, 8U, false), std::tuple(2, 16U, true)}) {
        watched_queue q({.kind = queue_kind::fq_codel, .marking = queue_marking::predicted});
        hold(q, packets, 400 * ms, 2e6, flows);
        EXPECT_EQ(!signals(q).empty(), some) << flows;
    }
}

TEST(PredictedMarking, PieFollowsTheRateAtItsNextUpdateWhateverHasWaited) {
    no_drops drops;
    pie p(drops, 15 * ms, 1);
    p.expect(drain_rate::of_second(1e6));
    for (int i = 0; i < 10; ++i) p.push(packet(0), 0, 100);  // 10 ms: below the target
    queued_packet out;
    for (std::int64_t t = pie::update_ns; t < 200 * ms; t += pie::update_ns) {
        p.push(packet(t), t, 100);
        p.pop(t, out);
    }
    EXPECT_EQ(p.probability(), 0);
    p.expect(drain_rate::of_second(1e5));  // the link fades: 100 ms
    p.push(packet(210 * ms), 210 * ms, 100);
    // alpha 0.125, beta 1.25, the least scale.
    EXPECT_NEAR(p.probability(), (0.125 * 0.085 + 1.25 * 0.09) / 2048, 1e-9);
}

TEST(PredictedMarking, TheRampOfDualPi2SeesWhatIsBehindThePacket) {
    const auto share = [](double bytes_per_s) {
        no_drops drops;
        dualpi2 q(drops, 15 * ms);
        q.expect(drain_rate::of_second(bytes_per_s));
        q.push(packet(0, ecn::ect_1), 0, 100);
        queued_packet out;
        int marked = 0;
        for (int i = 0; i < 1000; ++i) {  // no time passes: nothing has waited
            q.push(packet(0, ecn::ect_1), 0, 100);
            q.pop(0, out);
            marked += out.marked ? 1 : 0;
        }
        return marked / 1000.0;
    };
    EXPECT_EQ(share(0), 0);
    EXPECT_EQ(share(1000 / 0.7e-3), 0);  // below the ramp of 0.8 to 1.2 ms
    EXPECT_NEAR(share(1000 / 1e-3), 0.5, 0.002);
    EXPECT_NEAR(share(1000 / 1.3e-3), 1, 0.002);
}

TEST(PredictedMarking, TheControllerOfDualPi2SeesBothQueues) {
    no_drops drops;
    dualpi2 q(drops, 15 * ms);
    q.expect(drain_rate::of_second(1e5));
    q.push(packet(0, ecn::ect_1), 0, 100);
    q.push(packet(0), 0, 100);
    q.push(packet(15 * ms), 15 * ms, 100);  // its update comes before it: 20 ms
    EXPECT_NEAR(q.base_probability(), 0.1 * 0.015 / 0.01 * 0.005 + 0.3 / 0.1 * 0.02, 1e-12);
}

TEST(PredictedMarking, AnUnknownOneIsRefused) {
    EXPECT_THROW(packet_queue({.marking = static_cast<queue_marking>(2)},
                              [](const queued_packet&, queue_drop) {}),
                 std::invalid_argument);
}

// --- the rate that the base station expects ---

link_config cell() {
    link_config c;
    c.profile = link_profile::wipemu;
    c.bins = 10;
    c.modulation = 2;
    return c;
}
double bytes_per_s(int bins, int bits_per_symbol) {
    const int nibbles = bins * frame_payload_nibbles(link_profile::wipemu, bits_per_symbol);
    return nibbles / 2.0 * slots_per_second;
}

TEST(DrainForecast, IsTheRateOfTheBinsOfTheCell) {
    std::array<float, nof_bins> snr{};
    std::array<std::uint8_t, nof_bins> rate;
    rate.fill(1);
    for (std::size_t b = 10; b < 20; ++b) {  // the strongest
        snr[b] = 20;
        rate[b] = 4;
    }
    link_config c = cell();
    EXPECT_DOUBLE_EQ(drain_forecast().next(snr, rate, c), bytes_per_s(10, 4));
    c.allocation = allocation_kind::fixed;
    EXPECT_DOUBLE_EQ(drain_forecast().next(snr, rate, c), bytes_per_s(10, 1));
}

TEST(DrainForecast, FollowsTheRateInAFewSlots) {
    std::array<std::uint8_t, nof_bins> rate;
    rate.fill(4);
    drain_forecast f;
    f.next({}, rate, cell());
    rate.fill(1);
    const double step = bytes_per_s(10, 4) - bytes_per_s(10, 1);
    EXPECT_NEAR(f.next({}, rate, cell()), bytes_per_s(10, 4) - step / 8, 1e-6);
    for (int i = 0; i < 60; ++i) f.next({}, rate, cell());
    EXPECT_NEAR(f.next({}, rate, cell()), bytes_per_s(10, 1), 0.001 * step);
}

TEST(DrainForecast, RetransmissionsAndOthersTakeTheirShare) {
    std::array<std::uint8_t, nof_bins> rate;
    rate.fill(2);
    sent_slot out;
    out.used = (1U << 8) - 1U;  // eight of ten bins; two belong to others
    for (std::size_t b = 0; b < 8; ++b) {
        out.unit[b].bits_per_symbol = 2;
        out.unit[b].retransmissions = b < 3 ? 1 : 0;
    }
    drain_forecast f;
    for (int i = 0; i < 1500; ++i) {
        f.next({}, rate, cell());
        f.filled(out, cell());
    }
    EXPECT_NEAR(f.next({}, rate, cell()) / bytes_per_s(10, 2), 0.5, 0.001);
}

// The slot of the first packet that CoDel drops in a queue of 40 packets.
std::int64_t first_signal(queue_marking marking) {
    link_config c = cell();
    c.queue = {.kind = queue_kind::codel, .marking = marking, .target_ms = 60};
    informed_base_station b(c);
    for (std::int64_t i = 0; i < 1500; ++i) {
        b.give(40 - static_cast<int>(std::min<std::uint64_t>(40, b.stats().queued.packets)));
        b.step();
        if (b.stats().dropped_queue_managed.packets > 0) return i;
    }
    return -1;
}

TEST(PredictedMarking, TheBaseStationSignalsAsSoonAsTheQueueWillTakeTooLong) {
    // 40 packets of 1500 bytes take far longer than 60 ms, but the first ones have not waited yet.
    ASSERT_GT(40 * 1500 / bytes_per_s(10, 2), 0.12);
    const std::int64_t by_sojourn = first_signal(queue_marking::sojourn),
                       by_rate = first_signal(queue_marking::predicted);
    // The interval of 100 ms is 150 slots; a packet takes several slots, and the next one decides.
    const auto packet_slots =
        static_cast<std::int64_t>(1500 / bytes_per_s(10, 2) * slots_per_second) + 2;
    EXPECT_GE(by_rate, 150);
    EXPECT_LE(by_rate, 150 + 2 * packet_slots);
    EXPECT_GE(by_sojourn, 150 + 90);  // and the target of 60 ms
}

TEST(PredictedMarking, ATerminalThatIsNotHeardHasNoRate) {
    link_config c = cell();
    c.queue = {.kind = queue_kind::codel, .marking = queue_marking::predicted};
    base_station_mac mac(c);
    mac.on_sdu(test::ipv4(1500), slot(0));
    for (int k = 0; k < 400; ++k) mac.plan(slot(k));
    EXPECT_EQ(mac.statistics().queued.packets, 1U);
    EXPECT_EQ(mac.statistics().dropped_queue_managed.packets, 0U);
}

TEST(PredictedMarking, ItCanChangeInARunningCell) {
    link_config c = cell();
    c.queue.kind = queue_kind::codel;
    informed_base_station b(c);
    b.give(40);
    for (int i = 0; i < 20; ++i) b.step();
    c.queue.marking = queue_marking::predicted;
    b.mac.reconfigure(c);
    for (int i = 0; i < 600; ++i) {
        b.give(40 - static_cast<int>(std::min<std::uint64_t>(40, b.stats().queued.packets)));
        b.step();
    }
    EXPECT_GT(b.stats().dropped_queue_managed.packets, 0U);
    const auto& s = b.stats();
    EXPECT_EQ(s.in, s.sent + s.queued + s.dropped_queue_full + s.dropped_queue_managed);
}

}  // namespace
}  // namespace wip
