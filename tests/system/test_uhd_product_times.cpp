// SPDX-License-Identifier: GPL-3.0-or-later
// The software USRP as a b210, an x310, ...: when samples arrive, bursts are late, streams run dry
// and commands are executed.
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <string>
#include <thread>
#include <uhd/usrp/multi_usrp.hpp>

#include "air_process.h"
#include "uhd_link.h"

namespace {

using wip::test::cf32;
using wip::test::link;
using wip::test::make;
using wip::test::samples;
using wip::test::tone;
using wip::test::usrp;

TEST(Time, samples_come_as_late_as_the_transport_makes_them) {
    link l("", ",ppm=0,product=b210,latency_us=3000,spread_us=0", 7.68e6, 7.68e6);
    l.hear(0.05, 200000);
    l.send(samples(300000), 0.048);
    samples y(2040);
    for (int packet = 0; packet < 20; ++packet) {
        ASSERT_EQ(l.rx->recv(y.data(), y.size(), l.md, 5.0), y.size());
        const double end = l.md.time_spec.get_real_secs() + 2040 / 7.68e6;
        EXPECT_GE(l.terminal->get_time_now().get_real_secs(), end + 0.003 - 1e-6);
    }
}

TEST(Time, a_burst_that_would_arrive_too_late_is_late) {
    const auto outcome = [](const std::string& latency) {
        wip::test::air_process air("clock: realtime, speed: 0.1", "nodes: {base: {}}\npaths: []\n");
        const auto radio = usrp::make(uhd::device_addr_t(air.args("base") + ",product=x310," +
                                                         "master_clock_rate=184.32e6" + latency));
        radio->set_tx_rate(7.68e6);
        const auto tx = radio->get_tx_stream(uhd::stream_args_t("fc32", "sc16"));
        uhd::tx_metadata_t m;
        m.has_time_spec = m.start_of_burst = m.end_of_burst = true;
        m.time_spec = radio->get_time_now() + uhd::time_spec_t(0.006);  // 60 ms of wall clock
        tx->send(samples(1000).data(), 1000, m);
        uhd::async_metadata_t message;
        while (tx->recv_async_msg(message, 3))
            if (message.event_code != uhd::async_metadata_t::EVENT_CODE_UNDERFLOW) break;
        return message.event_code;
    };
    EXPECT_EQ(outcome(""), uhd::async_metadata_t::EVENT_CODE_BURST_ACK);
    EXPECT_EQ(outcome(",latency_us=8000"), uhd::async_metadata_t::EVENT_CODE_TIME_ERROR);
}

// A stream that is fed two milliseconds ahead runs dry when its samples are three on their way.
TEST(Time, a_stream_runs_dry_while_its_samples_are_on_their_way) {
    const auto underflows = [](const std::string& latency) {
        wip::test::air_process air("clock: realtime, speed: 0.1", "nodes: {base: {}}\npaths: []\n");
        const auto radio = usrp::make(uhd::device_addr_t(
            air.args("base") + ",ppm=0,spread_us=0,product=x310,master_clock_rate=184.32e6" +
            latency));
        radio->set_tx_rate(7.68e6);
        const auto tx = radio->get_tx_stream(uhd::stream_args_t("fc32", "sc16"));
        const samples millisecond(7680);
        const uhd::time_spec_t start = radio->get_time_now() + uhd::time_spec_t(0.012);
        uhd::tx_metadata_t m;
        m.has_time_spec = m.start_of_burst = true;
        m.time_spec = start;
        int found = 0;
        for (int i = 0; i < 20; ++i) {
            while (radio->get_time_now() < start + uhd::time_spec_t((i - 2) * 1e-3) && i > 2)
                std::this_thread::sleep_for(std::chrono::milliseconds(1));
            m.end_of_burst = i == 19;
            tx->send(millisecond.data(), millisecond.size(), m);
            m.has_time_spec = m.start_of_burst = false;
        }
        uhd::async_metadata_t message;
        while (tx->recv_async_msg(message, 0.5))
            found += message.event_code == uhd::async_metadata_t::EVENT_CODE_UNDERFLOW;
        return found;
    };
    EXPECT_EQ(underflows(",latency_us=0"), 0);
    EXPECT_GT(underflows(",latency_us=3000"), 0);
}

// An x310 changes its gain at the time of the command (and some microseconds), a b210 when the
// command arrives.
TEST(Time, a_timed_gain_is_timed_where_the_device_can) {
    const auto step_at = [](const std::string& args) {
        link l("", args, 7.68e6, 7.68e6);
        l.terminal->set_rx_gain(0);
        const double level = l.terminal->get_mboard_name() == "X310" ? 0 : 10;
        l.base->set_tx_gain(-20 - level);
        l.terminal->set_command_time(uhd::time_spec_t(0.06));
        l.terminal->set_rx_gain(10);
        l.terminal->clear_command_time();
        l.hear(0.05, 153600);
        l.send(tone(0, 7.68e6, 0.5, 200000), 0.048);
        const samples y = l.take(153600);
        for (std::size_t i = 2000; i < y.size(); ++i)
            if (std::abs(y[i]) > 0.08) return 0.05 + double(i) / 7.68e6;
        return 0.0;
    };
    const double x310 = step_at(",ppm=0,product=x310,master_clock_rate=184.32e6");
    EXPECT_GE(x310, 0.06);
    EXPECT_LE(x310, 0.06 + 3e-6);
    EXPECT_LT(step_at(",ppm=0,product=b210"), 0.0504);
}

// The transport's spread is another one for each: none overtakes the one before it.
TEST(Time, commands_at_once_are_executed_in_the_order_given) {
    for (const std::string product : {"b210", "x310,master_clock_rate=184.32e6"}) {
        const auto radio = make("speed=100,noise_dbfs=-40,ppm=0,faults=0,product=" + product);
        for (int i = 0; i < 20; ++i) radio->set_rx_gain(i == 19 ? 0 : 20 + i % 10);
        radio->set_rx_rate(7.68e6);
        const auto stream = radio->get_rx_stream(uhd::stream_args_t("fc32"));
        uhd::stream_cmd_t command(uhd::stream_cmd_t::STREAM_MODE_NUM_SAMPS_AND_DONE);
        command.num_samps = 20000;
        command.stream_now = false;
        command.time_spec = radio->get_time_now() + uhd::time_spec_t(0.01);
        stream->issue_stream_cmd(command);
        samples y(20000);
        uhd::rx_metadata_t metadata;
        ASSERT_EQ(stream->recv(y.data(), y.size(), metadata, 5.0), y.size());
        double power = 0;
        for (const cf32 v : y) power += std::norm(v) / 20000.0;
        const double level = product == "b210" ? 10 : 0;
        EXPECT_NEAR(10 * std::log10(power), -40 + level, 0.2) << product;
    }
}

// 85 commands wait in an x310; the next waits until the first of them is done.
TEST(Time, the_queue_of_commands_has_an_end) {
    const auto radio = usrp::make(
        uhd::device_addr_t("type=vusrp,clock=realtime,product=x310,latency_us=0,spread_us=0"));
    const auto begin = radio->get_time_now();
    radio->set_command_time(begin + uhd::time_spec_t(0.8));
    for (int i = 0; i < 85; ++i) radio->set_rx_gain(i % 20);
    radio->clear_command_time();  // reading the time would wait for it as well
    EXPECT_LT((radio->get_time_now() - begin).get_real_secs(), 0.7);
    radio->set_command_time(begin + uhd::time_spec_t(0.8));
    radio->set_rx_gain(5);
    radio->clear_command_time();
    EXPECT_GE((radio->get_time_now() - begin).get_real_secs(), 0.8);
}

}  // namespace
