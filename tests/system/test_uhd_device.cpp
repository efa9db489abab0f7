// SPDX-License-Identifier: GPL-3.0-or-later
// The software USRP through UHD's own multi_usrp interface: exact times, tuning, and the events of
// a real radio.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <complex>
#include <random>
#include <thread>
#include <uhd/exception.hpp>
#include <uhd/usrp/multi_usrp.hpp>
#include <vector>

#include "air_process.h"

namespace {

using namespace std::chrono_literals;
using cf32 = std::complex<float>;
using samples = std::vector<cf32>;
using usrp = uhd::usrp::multi_usrp;
constexpr double rate = 7.68e6;  // Hz

uhd::time_spec_t at(long long tick) { return uhd::time_spec_t::from_ticks(tick, rate); }

samples noise_like(std::size_t n, unsigned seed) {
    std::mt19937 random(seed);
    std::uniform_real_distribution<float> u(-0.5f, 0.5f);
    samples x(n);
    for (cf32& s : x) s = {u(random), u(random)};
    return x;
}

struct station {
    explicit station(const std::string& args, double frequency = 1.8e9)
        : radio(usrp::make(uhd::device_addr_t(args))) {
        radio->set_rx_rate(rate);
        radio->set_tx_rate(rate);
        radio->set_rx_freq(frequency);
        radio->set_tx_freq(frequency);
    }
    uhd::tx_streamer::sptr transmitter(const std::string& format = "fc32") {
        if (!tx) tx = radio->get_tx_stream(uhd::stream_args_t(format, "sc16"));
        return tx;
    }
    uhd::rx_streamer::sptr receiver(const std::string& format = "fc32") {
        if (!rx) rx = radio->get_rx_stream(uhd::stream_args_t(format, "sc16"));
        return rx;
    }
    std::size_t send(const samples& x, long long tick, bool end = true) {
        uhd::tx_metadata_t sent;
        sent.has_time_spec = sent.start_of_burst = true;
        sent.time_spec = at(tick);
        sent.end_of_burst = end;
        return transmitter()->send(x.data(), x.size(), sent, 3.0);
    }
    void listen(long long tick, std::size_t n) {
        uhd::stream_cmd_t c(uhd::stream_cmd_t::STREAM_MODE_NUM_SAMPS_AND_DONE);
        c.num_samps = n;
        c.stream_now = false;
        c.time_spec = at(tick);
        receiver()->issue_stream_cmd(c);
    }
    samples take(std::size_t n, double timeout = 3.0) {
        samples y(n);
        y.resize(receiver()->recv(y.data(), n, md, timeout));
        return y;
    }
    bool wait_event(uhd::async_metadata_t::event_code_t code, double timeout = 3.0) {
        uhd::async_metadata_t message;
        while (transmitter()->recv_async_msg(message, timeout))
            if (message.event_code == code) return event_time = message.time_spec, true;
        return false;
    }
    usrp::sptr radio;
    uhd::tx_streamer::sptr tx;
    uhd::rx_streamer::sptr rx;
    uhd::rx_metadata_t md;
    uhd::time_spec_t event_time;
};

// Two stations on a lockstep medium that waits for both.
struct lockstep : testing::Test {
    explicit lockstep(const std::string& path = "gain_db: 0", const std::string& more = "")
        : air("clock: lockstep, speed: 0, wait_for: {transmitters: 1, receivers: 1}",
              "nodes: {base: {}, terminal: {}}\n"
              "paths: [{from: base, to: terminal, " +
                  path + "}]\n"),
          base(air.args("base") + more),
          terminal(air.args("terminal")) {}
    wip::test::air_process air;
    station base, terminal;
};

struct lockstep_with_hold : lockstep {
    lockstep_with_hold() : lockstep("gain_db: 0", ",hold=1") {}
};

struct lockstep_with_delay : lockstep {
    lockstep_with_delay() : lockstep("delay_samples: 123, gain_db: -6.020599913279624") {}
};

TEST_F(lockstep, a_timed_burst_comes_back_on_its_sample_unchanged) {
    const samples x = noise_like(3000, 1);
    terminal.listen(768000, 10240);
    ASSERT_EQ(base.send(x, 768000 + 1777), x.size());
    const samples y = terminal.take(10240);
    ASSERT_EQ(y.size(), 10240u);
    EXPECT_EQ(terminal.md.time_spec.to_ticks(rate), 768000);
    EXPECT_FALSE(terminal.md.start_of_burst);  // an RFNoC radio never sets it
    EXPECT_TRUE(terminal.md.end_of_burst);
    EXPECT_TRUE(std::equal(x.begin(), x.end(), y.begin() + 1777));
    for (std::size_t i = 0; i < y.size(); ++i)
        if (i < 1777 || i >= 4777) {
            ASSERT_EQ(y[i], cf32{}) << i;
        }
}

TEST_F(lockstep_with_delay, a_path_delays_and_attenuates) {
    const samples x = noise_like(1000, 2);
    terminal.listen(768000, 5120);
    base.send(x, 768000);
    const samples y = terminal.take(5120);
    ASSERT_EQ(y.size(), 5120u);
    EXPECT_EQ(y[122], cf32{});
    for (std::size_t i = 0; i < x.size(); ++i)
        ASSERT_NEAR(std::abs(y[i + 123] - 0.5f * x[i]), 0, 1e-6);
}

// Bursts with an end do not stop the clock, unless the device is configured to.
TEST_F(lockstep_with_hold, no_burst_of_many_is_late) {
    const samples x = noise_like(100, 3);
    constexpr int bursts = 300;
    terminal.listen(768000, 890000);  // the clock stands at the end of the last burst
    std::thread sender([&] {
        for (int i = 0; i < bursts; ++i) base.send(x, 768000 + 3001LL * i);
    });
    const samples y = terminal.take(890000, 20);
    sender.join();
    ASSERT_EQ(y.size(), 890000u);
    for (int i = 0; i < 296; ++i)
        ASSERT_TRUE(std::equal(x.begin(), x.end(), y.begin() + 3001L * i)) << "burst " << i;
    EXPECT_TRUE(base.wait_event(uhd::async_metadata_t::EVENT_CODE_BURST_ACK));
}

TEST_F(lockstep, a_stream_cut_into_odd_calls_stays_gapless) {
    const samples x = noise_like(200000, 4);
    terminal.listen(768000, x.size());
    std::thread sender([&] {
        std::size_t done = 0;
        for (int i = 0; done < x.size(); ++i) {
            const std::size_t n = std::min<std::size_t>(1 + 977 * (i % 13), x.size() - done);
            uhd::tx_metadata_t md;
            md.has_time_spec = done == 0;
            md.time_spec = at(768000);
            md.end_of_burst = done + n == x.size();
            done += base.transmitter()->send(x.data() + done, n, md, 3.0);
        }
    });
    samples y(x.size());
    std::size_t got = 0;
    while (got < y.size()) {
        const std::size_t n = terminal.receiver()->recv(
            y.data() + got, std::min<std::size_t>(1234, y.size() - got), terminal.md, 3.0, true);
        ASSERT_EQ(terminal.md.error_code, uhd::rx_metadata_t::ERROR_CODE_NONE);
        ASSERT_EQ(terminal.md.time_spec.to_ticks(rate), static_cast<long long>(768000 + got));
        got += n;
    }
    sender.join();
    EXPECT_EQ(x, y);
}

TEST_F(lockstep, a_transmitter_on_another_frequency_is_not_heard) {
    base.radio->set_tx_freq(1.81e9);
    terminal.listen(768000, 5120);
    base.send(noise_like(5120, 5), 768000);
    const samples y = terminal.take(5120);
    EXPECT_EQ(y, samples(5120));
}

TEST_F(lockstep, a_timed_retune_takes_effect_on_its_sample) {
    terminal.listen(768000, 30000);
    for (station* s : {&base, &terminal}) s->radio->clear_command_time();
    terminal.radio->set_command_time(at(768000 + 11111));
    terminal.radio->set_rx_freq(1.81e9);
    terminal.radio->clear_command_time();
    base.radio->set_command_time(at(768000 + 22222));
    base.radio->set_tx_freq(1.81e9);
    base.radio->clear_command_time();
    // the new frequency is reported at once, though the command is pending
    EXPECT_DOUBLE_EQ(base.radio->get_tx_freq(), 1.81e9);
    base.send(samples(30000, cf32(0.25f, 0)), 768000);
    const samples y = terminal.take(30000);
    ASSERT_EQ(y.size(), 30000u);
    for (std::size_t i = 0; i < y.size(); ++i)
        ASSERT_EQ(y[i], cf32(i < 11111 || i >= 22222 ? 0.25f : 0.0f, 0)) << i;
}

TEST_F(lockstep, a_timed_gain_takes_effect_on_its_sample) {
    terminal.listen(768000, 20000);
    base.radio->set_command_time(at(768000 + 7001));
    base.radio->set_tx_gain(-20);
    terminal.radio->set_command_time(at(768000 + 9001));
    terminal.radio->set_rx_gain(20);
    base.send(samples(20000, cf32(0, 0.5f)), 768000);
    const samples y = terminal.take(20000);
    ASSERT_EQ(y.size(), 20000u);
    for (std::size_t i = 0; i < y.size(); ++i)
        ASSERT_NEAR(y[i].imag(), i < 7001 || i >= 9001 ? 0.5 : 0.05, 1e-6) << i;
}

TEST_F(lockstep, a_receiver_clips_at_full_scale) {
    terminal.radio->set_rx_gain(30);
    terminal.listen(768000, 100);
    base.send(samples(100, cf32(0.5f, -0.5f)), 768000);
    EXPECT_EQ(terminal.take(100), samples(100, cf32(1, -1)));
}

TEST_F(lockstep, a_small_offset_between_the_centres_turns_the_signal) {
    base.radio->set_tx_freq(1.8e9 + 7500);  // a full turn is 1024 samples
    terminal.listen(768000, 4096);
    base.send(samples(4096, cf32(0.5f, 0)), 768000);
    const samples y = terminal.take(4096);
    ASSERT_EQ(y.size(), 4096u);
    for (std::size_t i = 0; i < y.size(); ++i)  // 768000 is a multiple of 1024
        ASSERT_NEAR(
            std::abs(y[i] - std::polar(0.5f, static_cast<float>(2 * M_PI * (i % 1024) / 1024))), 0,
            1e-5);
}

TEST_F(lockstep, a_burst_for_the_past_is_late_and_not_on_the_air) {
    terminal.listen(768000, 100000);
    base.send(samples(100, cf32(1, 0)), 768000);
    ASSERT_EQ(terminal.take(50000).size(), 50000u);
    while (base.radio->get_time_now().to_ticks(rate) < 768000 + 100000)
        std::this_thread::sleep_for(1ms);
    base.send(samples(100, cf32(1, 0)), 768000 + 200);
    EXPECT_TRUE(base.wait_event(uhd::async_metadata_t::EVENT_CODE_TIME_ERROR));
    const samples rest = terminal.take(50000);
    EXPECT_EQ(rest, samples(50000));
}

TEST_F(lockstep, integer_samples_are_scaled_to_full_scale) {
    std::vector<std::complex<std::int16_t>> x(1000), y(1000);
    for (int i = 0; i < 1000; ++i)
        x[static_cast<std::size_t>(i)] = {static_cast<std::int16_t>(i * 32),
                                          static_cast<std::int16_t>(-i * 31)};
    base.transmitter("sc16");
    terminal.receiver("sc16");
    terminal.listen(768000, 1000);
    uhd::tx_metadata_t md;
    md.has_time_spec = true;
    md.time_spec = at(768000);
    md.end_of_burst = true;
    ASSERT_EQ(base.tx->send(x.data(), 1000, md, 3.0), 1000u);
    ASSERT_EQ(terminal.rx->recv(y.data(), 1000, terminal.md, 3.0), 1000u);
    EXPECT_EQ(x, y);
}

// The parameter is the length of a gap in samples, every 20 ms from 10 ms on, in a receiver that
// reads in time.
struct lockstep_with_gaps : testing::TestWithParam<long long> {
    wip::test::air_process air{
        "clock: lockstep, speed: 0, wait_for: {transmitters: 1, receivers: 1}",
        "nodes: {base: {}, terminal: {impairments: [{gap: {samples: " + std::to_string(GetParam()) +
            ", start_s: 0.01, period_s: 0.02}}]}}\npaths: [{from: base, to: terminal}]\n"};
    station base{air.args("base")}, terminal{air.args("terminal")};
};

TEST_P(lockstep_with_gaps, lost_samples_are_overflows_and_the_rest_keeps_its_time) {
    const samples x = noise_like(768000, 9);  // 100 ms
    terminal.listen(0, x.size());
    std::thread sender([&] { base.send(x, 0); });
    std::vector<long long> lost, expected;
    long long gone = 0;
    for (long long gap = 76800; gap < 768000; gap += 153600)
        for (long long at = gap; at < gap + GetParam(); at += 7680 + 64) {
            expected.push_back(at);
            gone += std::min(7680LL, gap + GetParam() - at);
        }
    std::size_t received = 0;
    const std::size_t all = x.size() - static_cast<std::size_t>(gone);
    for (int calls = 0; calls < 1000 && received < all; ++calls) {
        const samples y = terminal.take(5120);
        if (terminal.md.error_code == uhd::rx_metadata_t::ERROR_CODE_OVERFLOW) {
            lost.push_back(terminal.md.time_spec.to_ticks(rate));
            continue;
        }
        EXPECT_EQ(terminal.md.error_code, uhd::rx_metadata_t::ERROR_CODE_NONE) << received;
        if (y.empty()) break;
        const auto t = terminal.md.time_spec.to_ticks(rate);
        EXPECT_TRUE(std::equal(y.begin(), y.end(), x.begin() + t)) << t;
        received += y.size();
    }
    sender.join();
    EXPECT_EQ(lost, expected);
    EXPECT_EQ(received, all);
}

INSTANTIATE_TEST_SUITE_P(short_and_long, lockstep_with_gaps, testing::Values(1000, 7680, 30000));

// A receiver whose clock is 100 ppm fast or slow: its device time and its samples drift, the
// content stays that of the medium's time.
struct lockstep_with_clock : testing::TestWithParam<int> {
    wip::test::air_process air{
        "clock: lockstep, speed: 0, wait_for: {transmitters: 1, receivers: 1}",
        "nodes: {base: {}, terminal: {impairments: [{clock_ppm: " + std::to_string(GetParam()) +
            "}]}}\npaths: [{from: base, to: terminal}]\n"};
    station base{air.args("base")}, terminal{air.args("terminal")};
};

TEST_P(lockstep_with_clock, hears_at_its_own_time_what_is_sent_at_the_mediums) {
    // An impulse after 20 s: 15360 samples of drift at 100 ppm, three slots.
    const long long sent = 20 * 7680000LL;
    const long long heard = std::llround(static_cast<double>(sent) / (1 - 1e-6 * GetParam()));
    samples x(2000);
    x[1000] = 0.5f;
    terminal.listen(heard - 100, 2000);
    std::thread sender([&] { base.send(x, sent); });
    const samples y = terminal.take(2000, 30.0);
    sender.join();
    ASSERT_EQ(y.size(), 2000u);
    const auto top = std::max_element(y.begin(), y.end(),
                                      [](cf32 a, cf32 b) { return std::norm(a) < std::norm(b); });
    // 7 samples are the filter's delay
    EXPECT_NEAR(static_cast<double>(top - y.begin()), 100 + 1000 + 7, 1);
    EXPECT_GT(std::abs(*top), 0.25f);
}

INSTANTIATE_TEST_SUITE_P(fast_and_slow, lockstep_with_clock, testing::Values(100, -100));

TEST_F(lockstep, setting_the_device_time_moves_the_time_stamps) {
    terminal.radio->set_time_now(uhd::time_spec_t(100.0));
    terminal.listen(768000 * 1001LL, 1000);
    base.send(samples(5120, cf32(0.5f, 0)), 768000);
    const samples y = terminal.take(1000);
    EXPECT_EQ(y, samples(1000, cf32(0.5f, 0)));
    EXPECT_NEAR(terminal.md.time_spec.get_real_secs(), 100.1, 1e-9);
}

TEST_F(lockstep, bad_settings_are_refused_with_a_message) {
    EXPECT_THROW(base.radio->set_tx_antenna("RX9"), uhd::exception);
    EXPECT_THROW(base.radio->get_tx_stream(uhd::stream_args_t("sc8", "sc16")), uhd::exception);
    EXPECT_THROW(usrp::make(uhd::device_addr_t(air.args("nobody"))), uhd::exception);
    EXPECT_THROW(usrp::make(uhd::device_addr_t("type=vusrp,air=nowhere,connect_timeout=0")),
                 uhd::exception);
    EXPECT_THROW(usrp::make(uhd::device_addr_t("type=vusrp,speed=fast")), uhd::exception);
}

// One radio on its own medium, free running.
struct realtime : testing::Test {
    station radio{"type=vusrp,node=" +
                  std::string(testing::UnitTest::GetInstance()->current_test_info()->name())};
};

TEST_F(realtime, the_device_clock_follows_the_wall_clock) {
    const auto before = std::chrono::steady_clock::now();
    const auto a = radio.radio->get_time_now();
    std::this_thread::sleep_for(200ms);
    const auto b = radio.radio->get_time_now();
    const double wall =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - before).count();
    EXPECT_GE((b - a).get_real_secs(), 0.2);
    EXPECT_LE((b - a).get_real_secs(), wall);
}

TEST_F(realtime, a_transmitter_that_stops_feeding_underflows) {
    uhd::tx_metadata_t md;  // without a time: sent as soon as possible, without an end of burst
    radio.transmitter()->send(samples(20000).data(), 20000, md, 1.0);
    EXPECT_TRUE(radio.wait_event(uhd::async_metadata_t::EVENT_CODE_UNDERFLOW));
}

TEST_F(realtime, a_burst_with_an_end_is_acknowledged_and_does_not_underflow) {
    uhd::tx_metadata_t md;
    md.end_of_burst = true;
    radio.transmitter()->send(samples(20000).data(), 20000, md, 1.0);
    uhd::async_metadata_t message;
    ASSERT_TRUE(radio.tx->recv_async_msg(message, 2.0));
    EXPECT_EQ(message.event_code, uhd::async_metadata_t::EVENT_CODE_BURST_ACK);
    EXPECT_FALSE(radio.tx->recv_async_msg(message, 0.05));
}

TEST_F(realtime, a_late_burst_is_reported) {
    const long long past = radio.radio->get_time_now().to_ticks(rate) - 1000;
    radio.send(samples(1000), past);
    EXPECT_TRUE(radio.wait_event(uhd::async_metadata_t::EVENT_CODE_TIME_ERROR));
}

TEST_F(realtime, a_receiver_that_does_not_read_overflows_and_goes_on) {
    uhd::stream_cmd_t start(uhd::stream_cmd_t::STREAM_MODE_START_CONTINUOUS);
    radio.receiver()->issue_stream_cmd(start);
    ASSERT_EQ(radio.take(1000).size(), 1000u);
    std::this_thread::sleep_for(300ms);  // the ring holds 68 ms
    bool overflow = false;
    uhd::time_spec_t lost, next;
    for (int i = 0; i < 2000 && next == uhd::time_spec_t(0.0); ++i) {
        radio.take(2560);
        if (radio.md.error_code == uhd::rx_metadata_t::ERROR_CODE_OVERFLOW) {
            overflow = true;
            lost = radio.md.time_spec;
        } else if (overflow) {
            next = radio.md.time_spec;
        }
    }
    EXPECT_TRUE(overflow);
    EXPECT_GT((next - lost).get_real_secs(), 0.05);
}

TEST_F(realtime, a_stream_command_for_the_past_is_late) {
    radio.listen(radio.radio->get_time_now().to_ticks(rate) - 100000, 1000);
    EXPECT_TRUE(radio.take(1000).empty());
    EXPECT_EQ(radio.md.error_code, uhd::rx_metadata_t::ERROR_CODE_LATE_COMMAND);
}

TEST_F(realtime, without_a_stream_recv_times_out) {
    EXPECT_TRUE(radio.take(1000, 0.01).empty());
    EXPECT_EQ(radio.md.error_code, uhd::rx_metadata_t::ERROR_CODE_TIMEOUT);
}

TEST_F(realtime, stopping_ends_the_stream_with_an_end_of_burst) {
    radio.receiver()->issue_stream_cmd(uhd::stream_cmd_t::STREAM_MODE_START_CONTINUOUS);
    radio.take(1000);
    radio.rx->issue_stream_cmd(uhd::stream_cmd_t::STREAM_MODE_STOP_CONTINUOUS);
    bool ended = false;
    for (int i = 0; i < 1000 && !ended; ++i) {
        radio.take(2560, 1.0);
        ended = radio.md.end_of_burst;
    }
    EXPECT_TRUE(ended);
    radio.take(100, 0.05);
    EXPECT_EQ(radio.md.error_code, uhd::rx_metadata_t::ERROR_CODE_TIMEOUT);
}

TEST_F(realtime, the_time_can_be_set_at_a_pulse_per_second) {
    radio.radio->set_time_unknown_pps(uhd::time_spec_t(1000.0));
    const double now = radio.radio->get_time_now().get_real_secs();
    EXPECT_GE(now, 999.0);
    std::this_thread::sleep_for(1100ms);
    EXPECT_GT(radio.radio->get_time_now().get_real_secs(), 1000.0);
}

TEST_F(realtime, a_loop_back_burst_arrives_on_its_sample) {
    const long long start = radio.radio->get_time_now().to_ticks(rate) + 1536000;
    const samples x = noise_like(2000, 6);
    radio.listen(start, 5120);
    radio.send(x, start + 1000);
    const samples y = radio.take(5120);
    ASSERT_EQ(y.size(), 5120u);
    EXPECT_TRUE(std::equal(x.begin(), x.end(), y.begin() + 1000));
}

TEST_F(realtime, sensors_say_locked_and_connected) {
    EXPECT_TRUE(radio.radio->get_mboard_sensor("ref_locked").to_bool());
    EXPECT_TRUE(radio.radio->get_mboard_sensor("air_connected").to_bool());
    EXPECT_TRUE(radio.radio->get_rx_sensor("lo_locked").to_bool());
    EXPECT_TRUE(radio.radio->get_tx_sensor("lo_locked").to_bool());
}

}  // namespace
