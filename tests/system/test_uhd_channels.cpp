// SPDX-License-Identifier: GPL-3.0-or-later
// Several channels of one software USRP through multi_usrp, in lockstep: which there are, streams
// of one and of both, what is common to them and what is not.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <random>
#include <thread>

#include "two_radios.h"
#include "vusrp/product.h"

namespace {

using namespace wip::test;
using mode = uhd::stream_cmd_t;

// An X310 whose converters are exact, with gains of 1: sent at 11.5 dB, received at 0.
constexpr const char* exact =
    ",product=x310,master_clock_rate=184.32e6,faults=0,ppm=0,latency_us=0,spread_us=0";
constexpr double unity_db = 11.5;

samples noise(std::uint32_t seed, std::size_t n) {
    std::minstd_rand random(seed);
    std::uniform_real_distribution<float> value(-0.5f, 0.5f);
    samples x(n);
    for (cf32& v : x) v = {value(random), value(random)};
    return x;
}

uhd::stream_args_t channels(std::vector<std::size_t> numbers) {
    uhd::stream_args_t a("fc32", "sc16");
    a.channels = std::move(numbers);
    return a;
}

std::string refused(const std::function<void()>& action) {
    try {
        action();
    } catch (const std::exception& e) {
        return e.what();
    }
    return "";
}
bool has(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

// Two devices with two cables between them: channel 0 to channel 0, 1 to 1.
struct two_cables {
    explicit two_cables(const std::string& of_last = "{}")
        : air("clock: lockstep, speed: 0, wait_for: {transmitters: 2, receivers: 2}",
              "nodes: {a0: {}, a1: {}, b0: {}, b1: " + of_last +
                  "}\npaths: [{from: a0, to: b0}, {from: a1, to: b1, gain_db: -6.020599913}]\n"),
          from(open("a0:a1")),
          to(open("b0:b1")) {}
    usrp::sptr open(const std::string& node) {
        auto radio = usrp::make(uhd::device_addr_t(air.args(node) + exact));
        radio->set_tx_rate(7.68e6);
        radio->set_rx_rate(7.68e6);
        for (std::size_t ch = 0; ch < 2; ++ch) {
            radio->set_tx_freq(carrier, ch);
            radio->set_rx_freq(carrier, ch);
            radio->set_tx_gain(unity_db, ch);
            radio->set_rx_gain(0, ch);
        }
        return radio;
    }
    air_process air;
    usrp::sptr from, to;
};

void begin(uhd::rx_streamer& rx, double seconds, std::size_t n = 0) {
    uhd::stream_cmd_t c(n ? mode::STREAM_MODE_NUM_SAMPS_AND_DONE
                          : mode::STREAM_MODE_START_CONTINUOUS);
    c.num_samps = n;
    c.stream_now = false;
    c.time_spec = uhd::time_spec_t(seconds);
    rx.issue_stream_cmd(c);
}

uhd::tx_metadata_t burst(double seconds) {
    uhd::tx_metadata_t m;
    m.has_time_spec = m.start_of_burst = m.end_of_burst = true;
    m.time_spec = uhd::time_spec_t(seconds);
    return m;
}

TEST(Channels, are_as_many_as_the_product_has_with_its_names) {
    for (const auto& [name, spec] :
         {std::pair{"b200", "A:A"}, std::pair{"b210", "A:A A:B"}, std::pair{"n210", "A:0"},
          std::pair{"x310", "A:0 B:0"}, std::pair{"n310", "A:0 A:1 B:0 B:1"},
          std::pair{"n320", "A:0 B:0"}, std::pair{"e320", "A:0 A:1"},
          std::pair{"x410", "A:0 A:1 B:0 B:1"}}) {
        SCOPED_TRACE(name);
        const auto radio = make("product=" + std::string(name));
        const std::size_t n = wip::vusrp::find_product(name).subdevices.size();
        EXPECT_EQ(radio->get_rx_subdev_spec().to_string(), spec);
        EXPECT_EQ(radio->get_tx_subdev_spec().to_string(), spec);
        EXPECT_EQ(radio->get_rx_num_channels(), n);
        EXPECT_EQ(radio->get_tx_num_channels(), n);
        for (std::size_t ch = 0; ch < n; ++ch) {
            radio->set_rx_gain(3 + double(ch), ch);
            radio->set_tx_freq(1e9 + 1e6 * double(ch), ch);
            radio->set_rx_antenna(radio->get_rx_antennas(ch).back(), ch);
        }
        for (std::size_t ch = 0; ch < n; ++ch) {
            EXPECT_EQ(radio->get_rx_gain(ch), 3 + double(ch));
            EXPECT_NEAR(radio->get_tx_freq(ch), 1e9 + 1e6 * double(ch), 1);
        }
        const std::vector<std::string> antennas = radio->get_rx_antennas(0);
        radio->set_rx_antenna(antennas.front(), n - 1);
        EXPECT_EQ(radio->get_rx_antenna(n - 1), antennas.front());
        EXPECT_EQ(radio->get_rx_antenna(0), n == 1 ? antennas.front() : antennas.back());
    }
}

TEST(Channels, both_of_one_stream_go_through_with_every_bit) {
    two_cables w;
    const auto tx = w.from->get_tx_stream(channels({0, 1}));
    const auto rx = w.to->get_rx_stream(channels({0, 1}));
    ASSERT_EQ(tx->get_num_channels(), 2u);
    ASSERT_EQ(rx->get_num_channels(), 2u);
    constexpr std::size_t n = 1'000'000;  // samples, more than queues and rings hold
    const samples a = noise(1, n), b = noise(2, n);
    begin(*rx, 0.1, n);
    std::thread sender([&] {
        const std::vector<const void*> buffers{a.data(), b.data()};
        EXPECT_EQ(tx->send(buffers, n, burst(0.1), 30), n);
    });
    samples x(n), y(n);
    uhd::rx_metadata_t m;
    const std::vector<void*> into{x.data(), y.data()};
    EXPECT_EQ(rx->recv(into, n, m, 30), n);
    EXPECT_EQ(m.time_spec.to_ticks(7.68e6), 768000);
    EXPECT_TRUE(m.end_of_burst);
    sender.join();
    EXPECT_TRUE(x == a);
    std::size_t nof_different = 0;
    for (std::size_t i = 0; i < n; ++i) nof_different += std::abs(y[i] - 0.5f * b[i]) > 1e-6f;
    EXPECT_EQ(nof_different, 0u);
    uhd::async_metadata_t event;
    std::vector<std::size_t> acknowledged;
    while (tx->recv_async_msg(event, acknowledged.size() < 2 ? 5.0 : 0.0))
        if (event.event_code == uhd::async_metadata_t::EVENT_CODE_BURST_ACK)
            acknowledged.push_back(event.channel);
    std::ranges::sort(acknowledged);
    EXPECT_EQ(acknowledged, (std::vector<std::size_t>{0, 1}));
}

TEST(Channels, each_with_a_stream_of_its_own_begin_and_end_by_themselves) {
    two_cables w;
    const auto first = w.from->get_tx_stream(channels({0}));
    const auto second = w.from->get_tx_stream(channels({1}));
    const auto rx0 = w.to->get_rx_stream(channels({0})), rx1 = w.to->get_rx_stream(channels({1}));
    // As many samples as the radio holds before its clock runs.
    const samples a = noise(3, 12'000), b = noise(4, 12'000);
    begin(*rx0, 0.1, 12'000);
    begin(*rx1, 0.1005, 8'000);
    EXPECT_EQ(first->send(a.data(), a.size(), burst(0.1), 5), a.size());
    EXPECT_EQ(second->send(b.data(), b.size(), burst(0.1), 5), b.size());
    samples x(12'000), y(8'000);
    uhd::rx_metadata_t m;
    ASSERT_EQ(rx0->recv(x.data(), x.size(), m, 5), x.size());
    EXPECT_TRUE(x == a);
    ASSERT_EQ(rx1->recv(y.data(), y.size(), m, 5), y.size());
    EXPECT_EQ(m.time_spec.to_ticks(7.68e6), 771'840);
    std::size_t nof_different = 0;
    for (std::size_t i = 0; i < y.size(); ++i)
        nof_different += std::abs(y[i] - 0.5f * b[i + 3840]) > 1e-6f;
    EXPECT_EQ(nof_different, 0u);
    EXPECT_TRUE(has(refused([&] {
                        w.to->get_rx_stream(channels({0, 1}));
                    }),
                    "the receiver of channel 0 is streaming already"));
}

TEST(Channels, have_gain_and_carrier_of_their_own_and_one_time) {
    two_cables w;
    const auto tx = w.from->get_tx_stream(channels({0, 1}));
    const auto rx = w.to->get_rx_stream(channels({0, 1}));
    w.from->set_tx_gain(unity_db - 6, 0);
    w.to->set_rx_freq(carrier - 15e3, 1);  // so the carrier appears 15 kHz higher
    w.to->set_time_now(uhd::time_spec_t(1000.0));
    begin(*rx, 1000.1, 7680);
    const samples one(7680, 0.5f);
    const std::vector<const void*> buffers{one.data(), one.data()};
    ASSERT_EQ(tx->send(buffers, one.size(), burst(0.1), 5), one.size());
    samples x(7680), y(7680);
    uhd::rx_metadata_t m;
    const std::vector<void*> into{x.data(), y.data()};
    ASSERT_EQ(rx->recv(into, 7680, m, 5), 7680u);
    EXPECT_EQ(m.time_spec.to_ticks(7.68e6), 7'680'768'000);
    EXPECT_NEAR(std::abs(x[100]), 0.5 * std::pow(10, -6. / 20), 1e-5);
    EXPECT_NEAR(std::abs(y[100]), 0.25, 1e-5);
    EXPECT_NEAR(std::arg(x[101] * std::conj(x[100])), 0, 1e-5);
    EXPECT_NEAR(std::arg(y[101] * std::conj(y[100])), 2 * std::numbers::pi * 15e3 / 7.68e6, 1e-4);
}

// A gap in one channel: said once, and then both go on from the same sample.
TEST(Channels, stay_together_when_one_of_them_loses_samples) {
    two_cables w("{impairments: [{gap: {samples: 300, start_s: 0.101, period_s: 10}}]}");
    const auto tx = w.from->get_tx_stream(channels({0, 1}));
    const auto rx = w.to->get_rx_stream(channels({0, 1}));
    const samples a = noise(5, 40'000), b = noise(6, 40'000);
    begin(*rx, 0.1, 40'000);
    const std::vector<const void*> buffers{a.data(), b.data()};
    ASSERT_EQ(tx->send(buffers, a.size(), burst(0.1), 5), a.size());
    samples x(40'000), y(40'000);
    uhd::rx_metadata_t m;
    std::size_t nof_received = 0, gaps = 0, nof_different = 0;
    std::int64_t next = 768'000, missing = 0;
    while (nof_received + std::size_t(missing) < 40'000) {
        const std::vector<void*> into{x.data(), y.data()};
        const std::size_t n = rx->recv(into, 3000, m, 5);
        if (m.error_code == uhd::rx_metadata_t::ERROR_CODE_OVERFLOW) {
            ++gaps;
            continue;
        }
        ASSERT_EQ(m.error_code, uhd::rx_metadata_t::ERROR_CODE_NONE);
        ASSERT_GT(n, 0u);
        const std::int64_t at = m.time_spec.to_ticks(7.68e6);
        missing += at - next;
        next = at + std::int64_t(n);
        for (std::size_t i = 0; i < n; ++i) {
            const std::size_t k = std::size_t(at - 768'000) + i;
            nof_different += x[i] != a[k] || std::abs(y[i] - 0.5f * b[k]) > 1e-6f;
        }
        nof_received += n;
    }
    EXPECT_EQ(gaps, 1u);
    EXPECT_EQ(missing, 300);
    EXPECT_EQ(nof_different, 0u);
}

TEST(Channels, are_those_of_the_subdevice_specification) {
    two_cables w;
    w.to->set_rx_subdev_spec(uhd::usrp::subdev_spec_t("B:0"));
    EXPECT_EQ(w.to->get_rx_num_channels(), 1u);
    const auto tx = w.from->get_tx_stream(channels({1, 0}));  // the channels in the other order
    const auto rx = w.to->get_rx_stream(channels({0}));
    const samples a = noise(7, 10'000), b = noise(8, 10'000);
    begin(*rx, 0.1, 10'000);
    uhd::rx_metadata_t m;
    samples y(10'000);
    std::thread other([&] {  // so that the clock starts: it waits for two receivers
        const auto idle = w.from->get_rx_stream(channels({0}));
        begin(*idle, 0.1, 100);
        samples z(100);
        uhd::rx_metadata_t of_idle;
        idle->recv(z.data(), 100, of_idle, 5);
    });
    const std::vector<const void*> buffers{a.data(), b.data()};
    EXPECT_EQ(tx->send(buffers, a.size(), burst(0.1), 5), a.size());
    EXPECT_EQ(rx->recv(y.data(), y.size(), m, 5), y.size());
    other.join();
    std::size_t nof_different =
        0;  // B:0 is b1, which hears a1, the first of the transmitter's stream
    for (std::size_t i = 0; i < y.size(); ++i)
        nof_different += std::abs(y[i] - 0.5f * a[i]) > 1e-6f;
    EXPECT_EQ(nof_different, 0u);
}

TEST(Channels, what_is_not_there_is_refused_in_the_words_of_uhd) {
    const auto radio = make("product=b210");
    const auto receive = [&](std::vector<std::size_t> numbers) {
        return refused([&] { radio->get_rx_stream(channels(numbers)); });
    };
    EXPECT_TRUE(has(refused([&] { radio->set_rx_freq(1e9, 2); }), "RX channel 2 out of range"));
    EXPECT_TRUE(has(receive({0, 2}), "RX channel 2 out of range"));
    EXPECT_TRUE(has(receive({1, 1}), "channel 1 is in a stream twice"));
    uhd::usrp::subdev_spec_t none("A:C"), three("A:A A:B A:A");
    EXPECT_TRUE(has(refused([&] { radio->set_rx_subdev_spec(none); }),
                    "A:C is not a valid rx subdevice specification on mboard 0."));
    EXPECT_TRUE(has(refused([&] { radio->set_tx_subdev_spec(three); }),
                    "The user specified 3 channels, but there are only 2 tx dsps on mboard 0."));
    radio->set_rx_rate(3.84e6, 1);
    EXPECT_TRUE(has(receive({0, 1}), "another rate"));
    radio->set_rx_rate(3.84e6, 0);
    const auto rx = radio->get_rx_stream(channels({0, 1}));
    EXPECT_TRUE(has(refused([&] { rx->issue_stream_cmd(mode::STREAM_MODE_START_CONTINUOUS); }),
                    "stream now on multiple channels in a single streamer will fail"));
    EXPECT_TRUE(
        has(refused([] { make("")->get_tx_stream(channels({1})); }), "TX channel 1 out of range"));
}

TEST(Channels, without_a_node_are_there_and_do_not_stream) {
    const air_process air("clock: lockstep, speed: 0", "nodes: {a: {}, b: {}, c: {}}\npaths: []\n");
    const auto open = [&](const std::string& node) {
        return usrp::make(uhd::device_addr_t(air.args(node) + ",product=b210"));
    };
    const auto radio = open("a");
    EXPECT_EQ(radio->get_rx_num_channels(), 2u);
    radio->set_rx_rate(7.68e6);
    radio->set_rx_freq(1e9, 1);
    EXPECT_TRUE(has(refused([&] { radio->get_rx_stream(channels({1})); }),
                    "channel 1 has no node of the medium; valid: device argument node=A:B"));
    EXPECT_TRUE(has(refused([&] { open("b:c:a"); }),
                    "node is b:c:a; valid: one for each channel of the radio, at most 2"));
    EXPECT_TRUE(has(refused([&] { open("b:d"); }), "has no node 'd'"));
}

// The AD9361 has two channels up to half its highest clock.
TEST(Channels, of_a_b210_share_its_clock) {
    const std::string words =
        "current master clock rate (61.440000 MHz) exceeds maximum possible master clock rate "
        "(30.720000 MHz) when using 2 ";
    const auto radio = make("product=b210");
    radio->set_rx_rate(7.68e6);
    radio->set_tx_rate(7.68e6);
    EXPECT_EQ(radio->get_master_clock_rate(), 61.44e6);
    {
        const auto one = radio->get_tx_stream(channels({0}));
        EXPECT_TRUE(
            has(refused([&] { radio->get_tx_stream(channels({1})); }), words + "TX channels"));
    }
    const auto both = radio->get_rx_stream(channels({0, 1}));
    EXPECT_EQ(radio->get_master_clock_rate(), 30.72e6);
    EXPECT_EQ(radio->get_rx_rate(1), 7.68e6);
    for (const char* product : {"b210", "e320"}) {
        const auto fast = make("master_clock_rate=61.44e6,product=" + std::string(product));
        fast->set_rx_rate(7.68e6);
        EXPECT_TRUE(has(refused([&] { fast->get_rx_stream(channels({0, 1})); }), words));
        const auto slow = make("master_clock_rate=30.72e6,product=" + std::string(product));
        slow->set_rx_rate(7.68e6);
        const auto first = slow->get_rx_stream(channels({0}));
        EXPECT_EQ(slow->get_rx_stream(channels({1}))->get_num_channels(), 1u);
    }
}

}  // namespace
