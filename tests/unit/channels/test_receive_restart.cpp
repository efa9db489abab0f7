// SPDX-License-Identifier: GPL-3.0-or-later
// A software USRP's receiver around an overflow, on a private medium whose clock does not wait:
// when it starts again, on which tick, and with a release of UHD that does not start it.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <complex>
#include <optional>
#include <string>
#include <thread>
#include <uhd/exception.hpp>
#include <uhd/types/metadata.hpp>
#include <vector>

#include "vusrp/streams.h"

using namespace wip::vusrp;
namespace air = wip::air;

namespace {

using namespace std::chrono_literals;
constexpr double rate = 7.68e6;
constexpr auto none = uhd::rx_metadata_t::ERROR_CODE_NONE;
constexpr auto overflow = uhd::rx_metadata_t::ERROR_CODE_OVERFLOW;
constexpr auto timed_out = uhd::rx_metadata_t::ERROR_CODE_TIMEOUT;

struct radio {
    radio(const std::string& product, std::size_t packet)
        : ports(node_port::make_private({.clock = air::clock_kind::realtime, .speed = 1}, 1)),
          stream({{ports[0], model_of(product)}}, sample_format::fc32, packet),
          samples(packet) {
        stream.issue_stream_cmd(uhd::stream_cmd_t::STREAM_MODE_START_CONTINUOUS);
    }
    static radio_model model_of(const std::string& product) {
        radio_model m(uhd::device_addr_t("ppm=0,faults=0," + product));
        EXPECT_EQ(m.set_rate(side::receive, 0, rate), rate);
        return m.of(0);
    }
    uhd::rx_metadata_t take(double timeout = 1) {
        uhd::rx_metadata_t md;
        stream.recv(samples.data(), samples.size(), md, timeout, true);
        return md;
    }
    // Nobody takes anything for longer than all buffers hold; what is in them is taken, up to the
    // report of the overflow.
    uhd::rx_metadata_t overflow_report() {
        std::this_thread::sleep_for(120ms);
        for (int i = 0; i < 2000; ++i)
            if (const auto md = take(); md.error_code != none) return md;
        ADD_FAILURE() << "no overflow";
        return {};
    }

    std::vector<std::shared_ptr<node_port>> ports;
    receive_stream stream;
    std::vector<std::complex<float>> samples;
};

// Seconds of the radio from when the overflow was told to the first sample after it: the longest of
// up to 20 overflows, of which one at `least` is enough. A thread that had no core looks at the
// time later, and may have the next overflow before a sample.
double restart_after(radio& r, double least) {
    double longest = -1;
    for (int i = 0; i < 20 && longest < least; ++i) {
        EXPECT_EQ(r.overflow_report().error_code, overflow);
        const double device_time = static_cast<double>(r.ports[0]->now()) / rate;
        if (const auto md = r.take(); md.error_code == none)
            longest = std::max(longest, md.time_spec.get_real_secs() - device_time);
    }
    return longest;
}

}  // namespace

TEST(ReceiveRestart, a_radio_with_rfnoc_starts_again_50_ms_after_the_report) {
    radio r("product=x310,master_clock_rate=184320000", 1996);
    r.take();
    const double s = restart_after(r, 0.035);
    EXPECT_GT(s, 0.035);
    EXPECT_LT(s, 0.0505);
}

TEST(ReceiveRestart, a_b2xx_starts_again_after_1_ms) {
    radio r("product=b210", 2040);
    r.take();
    const double s = restart_after(r, -0.01);
    EXPECT_GT(s, -0.01);
    EXPECT_LT(s, 0.003);  // with two channels 10 ms
}

TEST(ReceiveRestart, with_uhd_4_1_a_b2xx_does_not) {
    radio r("product=b210,uhd=4.1", 2040);
    r.take();
    EXPECT_EQ(r.overflow_report().error_code, overflow);
    EXPECT_EQ(r.take(0.1).error_code, timed_out);
}

// The samples after it lie on any tick of the master clock, of which each has 24.
TEST(ReceiveRestart, the_grid_of_the_samples_moves_by_a_fraction) {
    radio r("product=x310,master_clock_rate=184320000", 1996);
    const auto fraction = [&r] {
        const auto time = r.take().time_spec;
        const double ticks = std::round(time.get_frac_secs() * 24 * rate);
        return static_cast<int>(std::fmod(ticks, 24));
    };
    const int before = fraction();
    int moved = 0;
    for (int i = 0; i < 4; ++i) {
        EXPECT_EQ(r.overflow_report().error_code, overflow);
        moved += fraction() != before;
    }
    EXPECT_GE(moved, 1);  // by chance all four stay once in 300,000
}

// A transfer over USB has 8176 bytes, two words of 8 bytes before the samples.
TEST(ReceiveRestart, a_packet_that_is_longer_than_a_transfer_fails_at_a_b2xx) {
    radio longest("product=b210", 2040);
    EXPECT_EQ(longest.take().error_code, none);
    radio overlong("product=b210", 2041);
    EXPECT_THROW(overlong.take(), uhd::io_error);
    radio larger_frames("product=b210,recv_frame_size=16360", 2041);
    EXPECT_EQ(larger_frames.take().error_code, none);
}
