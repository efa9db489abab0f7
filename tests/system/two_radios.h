// SPDX-License-Identifier: GPL-3.0-or-later
// Software USRPs by multi_usrp: one alone, what it refuses, one that sends to another.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <numbers>
#include <string>
#include <uhd/usrp/multi_usrp.hpp>
#include <vector>

#include "air_process.h"

namespace wip::test {

using cf32 = std::complex<float>;
using samples = std::vector<cf32>;
using usrp = uhd::usrp::multi_usrp;

inline usrp::sptr make(const std::string& args) {
    return usrp::make(uhd::device_addr_t("type=vusrp,clock=lockstep," + args));
}

inline std::string refusal(const std::string& args) {
    try {
        make(args);
    } catch (const std::exception& e) {
        return e.what();
    }
    return "";
}

inline constexpr double carrier = 1.8e9;  // Hz

// One radio sends to another in lockstep, as fast as possible.
struct two_radios {
    two_radios(const std::string& from, const std::string& to, double rate_from, double rate_to,
               const std::string& clock_source = "internal")
        : air("clock: lockstep, speed: 0, wait_for: {transmitters: 1, receivers: 1}",
              "nodes: {base: {}, terminal: {}}\npaths: [{from: base, to: terminal, gain_db: 0}]\n"),
          base(usrp::make(uhd::device_addr_t(air.args("base") + from))),
          terminal(usrp::make(uhd::device_addr_t(air.args("terminal") + to))) {
        base->set_tx_rate(rate_from);
        terminal->set_rx_rate(rate_to);
        base->set_tx_freq(carrier);
        terminal->set_rx_freq(carrier);
        terminal->set_clock_source(clock_source);
        tx = base->get_tx_stream(uhd::stream_args_t("fc32", "sc16"));
        rx = terminal->get_rx_stream(uhd::stream_args_t("fc32", "sc16"));
    }
    void send(const samples& x, double seconds) {
        uhd::tx_metadata_t m;
        m.has_time_spec = m.start_of_burst = m.end_of_burst = true;
        m.time_spec = uhd::time_spec_t(seconds);
        ASSERT_EQ(tx->send(x.data(), x.size(), m, 5.0), x.size());
    }
    samples hear(double seconds, std::size_t n) {
        uhd::stream_cmd_t c(uhd::stream_cmd_t::STREAM_MODE_NUM_SAMPS_AND_DONE);
        c.num_samps = n;
        c.stream_now = false;
        c.time_spec = uhd::time_spec_t(seconds);
        rx->issue_stream_cmd(c);
        return {};
    }
    samples take(std::size_t n) {
        samples y(n);
        y.resize(rx->recv(y.data(), n, md, 5.0));
        return y;
    }
    air_process air;
    usrp::sptr base, terminal;
    uhd::tx_streamer::sptr tx;
    uhd::rx_streamer::sptr rx;
    uhd::rx_metadata_t md;
};

inline samples tone(double hz, double rate, double amplitude, std::size_t n) {
    samples x(n);
    for (std::size_t i = 0; i < n; ++i)
        x[i] = cf32(std::polar(amplitude, 2 * std::numbers::pi * hz / rate * double(i)));
    return x;
}

// Hz that a carrier is off at a receiver with these arguments.
inline double heard_off(const std::string& args, const std::string& clock_source = "internal") {
    two_radios l("", ",product=b210" + args, 7.68e6, 7.68e6, clock_source);
    l.terminal->set_rx_gain(10);
    l.base->set_tx_gain(-20);
    l.hear(0.05, 7680);
    l.send(tone(0, 7.68e6, 0.5, 40000), 0.048);
    const samples y = l.take(7680);
    // samples that the filters of a product leave empty at the beginning of a run
    constexpr std::size_t empty = 100;
    double sum = 0;
    for (std::size_t i = empty; i < y.size(); ++i) sum += std::arg(y[i] * std::conj(y[i - 1]));
    return sum / double(y.size() - empty) / (2 * std::numbers::pi) * 7.68e6;
}

}  // namespace wip::test
