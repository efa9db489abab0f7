// SPDX-License-Identifier: GPL-3.0-or-later
// The counts that a software USRP's transmitter keeps for the medium, on a private medium whose
// clock does not wait.
#include <gtest/gtest.h>

#include <chrono>
#include <complex>
#include <thread>
#include <uhd/types/device_addr.hpp>
#include <vector>

#include "vusrp/transmit_core.h"

using namespace wip::vusrp;
namespace air = wip::air;

namespace {

constexpr tick ticks_per_sample = 24;

radio_model x310() {
    radio_model m(uhd::device_addr_t("product=x310,master_clock_rate=184320000,ppm=0,faults=0"));
    EXPECT_EQ(m.set_rate(side::transmit, 0, 7.68e6), 7.68e6);
    return m.of(0);
}

template <class Condition>
void until(Condition condition) {
    while (!condition()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

}  // namespace

TEST(TransmitCore, slots_that_were_late_are_counted_once_though_a_duc_reports_each_piece) {
    const auto ports = node_port::make_private({.clock = air::clock_kind::realtime, .speed = 1}, 1);
    transmit_core core(ports[0], x310(), wip::vusrp::fpga::error_policy::next_packet, false);
    core.announce({});
    until([&] { return ports[0]->running() && ports[0]->now() > 3 * 5120; });
    // 1000 samples take a fifth of a slot to be dropped, each packet is cut into 24 pieces.
    const std::vector<air::cf32> samples(1000);
    const tick past = 5120 * ticks_per_sample;
    core.packet(past, samples, true);
    std::size_t late = 0;
    until([&] {
        while (const auto e = core.take_report())
            late += e->kind == fpga::transmit_event_kind::late;
        return late == 24;
    });
    const auto counted = ports[0]->block().judged_late.load();
    EXPECT_GE(counted, 1U);
    EXPECT_LE(counted, 2U);  // because a slot of the medium ends meanwhile
}
