// SPDX-License-Identifier: GPL-3.0-or-later
// The receiving stream of a software USRP at a rate that is not the medium's, on a private medium
// in lockstep, which stands while nobody sends or receives.
#include <gtest/gtest.h>

#include <chrono>
#include <complex>
#include <thread>
#include <uhd/types/metadata.hpp>
#include <vector>

#include "vusrp/streams.h"

using namespace wip::vusrp;
namespace air = wip::air;

namespace {

using mode = uhd::stream_cmd_t;
constexpr auto none = uhd::rx_metadata_t::ERROR_CODE_NONE;
constexpr auto timed_out = uhd::rx_metadata_t::ERROR_CODE_TIMEOUT;

// An n210 at 1 MS/s, 7.68 ticks a sample, and a node beside it.
struct ReceiveStream : testing::Test {
    static radio_model slow() {
        radio_model m(uhd::device_addr_t("product=n210,ppm=0,faults=0,latency_us=0,spread_us=0"));
        EXPECT_EQ(m.set_rate(side::receive, 0, 1e6), 1e6);
        return m.of(0);
    }
    void command(std::size_t n, mode::stream_mode_t how = mode::STREAM_MODE_NUM_SAMPS_AND_DONE) {
        uhd::stream_cmd_t c(how);
        c.num_samps = n;
        stream.issue_stream_cmd(c);
    }
    std::size_t take(std::size_t size, double timeout) {
        std::vector<std::complex<float>> y(size);
        return stream.recv(y.data(), size, md, timeout, false);
    }
    template <class Condition>
    static void until(Condition condition) {
        while (!condition()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }

    std::vector<std::shared_ptr<node_port>> ports =
        node_port::make_private({.clock = air::clock_kind::lockstep, .speed = 0}, 2);
    receive_stream stream{{{ports[0], slow()}}, sample_format::fc32, 362};
    uhd::rx_metadata_t md;
};

}  // namespace

// When a capture is commanded, it is not known where between two samples it will begin.
TEST_F(ReceiveStream, a_capture_that_begins_now_has_all_its_samples) {
    for (std::size_t n = 200; n < 240; ++n) {
        command(n);
        EXPECT_EQ(take(n + 100, 5), n);
        EXPECT_EQ(md.error_code, none);
        EXPECT_TRUE(md.end_of_burst);
    }
}

// The last of 650 samples from tick 5120 on is complete before 10240, where the clock is held.
TEST_F(ReceiveStream, waiting_behind_the_last_sample_ends_with_the_timeout) {
    air::transmit_writer sender(ports[1]->header(), ports[1]->block(), ports[1]->fifo());
    const auto send = [&sender](std::uint64_t n) {
        ASSERT_EQ(sender.claim(n).size(), n);
        sender.publish(n);
    };
    sender.open(0, 0, false);
    send(5120);
    until([&] { return ports[0]->now() == 5120; });
    command(650);
    until([&] { return ports[0]->block().windows.written == 1; });
    ASSERT_EQ(ports[0]->block().windows.at(0).start, 5120);
    send(5120);
    EXPECT_EQ(take(650, 5), 650u);
    EXPECT_TRUE(md.end_of_burst);
    EXPECT_EQ(take(1, 0.02), 0u);
    EXPECT_EQ(md.error_code, timed_out);
    sender.close();
    command(10);
    EXPECT_EQ(take(10, 5), 10u);
}

TEST_F(ReceiveStream, a_command_does_not_wait_for_a_recv_that_waits_for_it) {
    std::size_t received = 0;
    std::thread receiver([&] { received = take(100, 10); });
    until([&] { return ports[0]->block().samples.waiting != 0; });
    command(100);
    receiver.join();
    EXPECT_EQ(received, 100u);
}

// 1.1 million ticks; the ring holds half a million.
TEST_F(ReceiveStream, more_samples_than_the_ring_holds_come_in_one_call) {
    command(140'000);
    EXPECT_EQ(take(140'000, 5), 140'000u);
    EXPECT_EQ(md.error_code, none);
}

TEST_F(ReceiveStream, no_samples_are_no_stream) {
    command(0);
    command(0, mode::STREAM_MODE_NUM_SAMPS_AND_MORE);
    EXPECT_EQ(ports[0]->block().commands.written, 0u);
    EXPECT_EQ(take(10, 0.01), 0u);
    EXPECT_EQ(md.error_code, timed_out);
}
