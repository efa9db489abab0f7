// SPDX-License-Identifier: GPL-3.0-or-later
// The software USRP as a b210, an x310, ...: what multi_usrp sees of its ranges, rates and
// refusals, and what its converters, oscillator and transport do to samples.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <complex>
#include <numbers>
#include <thread>
#include <uhd/exception.hpp>
#include <uhd/usrp/multi_usrp.hpp>
#include <vector>

#include "two_radios.h"
#include "vusrp/product.h"

namespace {

using namespace wip::test;
using wip::db;
using wip::vusrp::find_product;
using wip::vusrp::product;
using wip::vusrp::products;

// --- what the property tree says ---

TEST(Properties, ranges_are_those_of_the_table) {
    for (const product& p : products()) {
        SCOPED_TRACE(p.name);
        const auto radio = make("product=" + p.name);
        EXPECT_EQ(radio->get_mboard_name(), p.board);
        EXPECT_EQ(radio->get_fe_rx_freq_range().start(), p.receive.lowest_hz);
        EXPECT_EQ(radio->get_fe_tx_freq_range().start(), p.transmit.lowest_hz);
        EXPECT_EQ(radio->get_fe_tx_freq_range().stop(), p.transmit.highest_hz);
        EXPECT_EQ(radio->get_rx_gain_range().stop(), p.receive.gain.highest);
        EXPECT_EQ(radio->get_tx_gain_range().stop(), p.transmit.gain.highest);
        EXPECT_EQ(radio->get_rx_bandwidth_range().start(), p.receive.bandwidth.lowest);
        EXPECT_EQ(radio->get_rx_antenna(), p.receive.antennas[0]);
        EXPECT_EQ(radio->get_tx_antennas(), p.transmit.antennas);
        radio->set_rx_gain(p.receive.gain.lowest + 1.4 * p.receive.gain.step);
        EXPECT_DOUBLE_EQ(radio->get_rx_gain(), p.receive.gain.lowest + p.receive.gain.step);
        radio->set_tx_gain(1000);
        EXPECT_DOUBLE_EQ(radio->get_tx_gain(), p.transmit.gain.highest);
        radio->set_rx_bandwidth(1e12);
        EXPECT_DOUBLE_EQ(radio->get_rx_bandwidth(), p.receive.bandwidth.forced_down);
        radio->set_tx_bandwidth(1);
        EXPECT_DOUBLE_EQ(radio->get_tx_bandwidth(), p.transmit.bandwidth.forced_up);
        radio->set_rx_freq(1.8e9);
        EXPECT_NEAR(radio->get_rx_freq(), 1.8e9, 1);
        EXPECT_GT(radio->get_rx_rates().size(), 100u);
    }
}

// The names are those of UHD 4.9: db_ubx.cpp, ad936x_manager.cpp and b200_impl.cpp, get_fe_name.
TEST(Properties, front_ends_have_the_names_that_uhd_gives_them) {
    std::string names;
    for (const product& p : products()) {
        const auto radio = make("product=" + p.name);
        names += radio->get_rx_subdev_name(0) + ", " + radio->get_tx_subdev_name(0) + "; ";
        if (p.name == "b210") names += radio->get_tx_subdev_name(1) + "; ";
    }
    EXPECT_EQ(names,
              "FE-RX1, FE-TX1; FE-RX2, FE-TX2; FE-TX1; UBX RX, UBX TX; UBX RX, UBX TX; Magnesium, "
              "Magnesium; Rhodium, Rhodium; E3xx, E3xx; ZBX, ZBX; ");
    EXPECT_EQ(find_product("e320").transmit.lowest_hz, 47e6);
}

TEST(Properties, an_x410_receives_with_38_dB_at_most_up_to_500_MHz) {
    const auto radio = make("product=x410");
    radio->set_rx_gain(45);
    radio->set_rx_freq(450e6);
    EXPECT_EQ(radio->get_rx_gain(), 38);
    radio->set_rx_freq(500.1e6);
    EXPECT_EQ(radio->get_rx_gain(), 45);
}

// UHD's power calibration: the reference power is what full scale is at the connector.
TEST(Properties, with_calibration_data_a_power_can_be_asked_for) {
    const auto radio = make("product=b210,calibrated=1");
    ASSERT_TRUE(radio->has_tx_power_reference());
    radio->set_tx_power_reference(-5);  // 10 dBm at 89.75 dB
    EXPECT_NEAR(radio->get_tx_gain(), 74.75, 0.13);
    EXPECT_NEAR(radio->get_tx_power_reference(), -5, 0.13);
    EXPECT_EQ(radio->get_tx_power_range(0).stop(), 10);
    radio->set_rx_power_reference(-40);  // -10 dBm at gain 0
    EXPECT_NEAR(radio->get_rx_gain(), 30, 0.5);
    EXPECT_FALSE(make("product=b210")->has_tx_power_reference());
    // UHD brings data of the X410's board along: 22.3 dBm, and 14.9 dBm, at 1.8 GHz.
    const auto x410 = make("product=x410");
    EXPECT_EQ(x410->get_tx_power_range(0).stop(), 22);
    EXPECT_EQ(x410->get_rx_power_range(0).stop(), 15);
    EXPECT_FALSE(make("product=x410,calibrated=0")->has_tx_power_reference());
}

TEST(Properties, without_a_product_everything_is_as_before) {
    const auto radio = make("speed=1");
    EXPECT_EQ(radio->get_mboard_name(), "VUSRP");
    EXPECT_EQ(radio->get_rx_gain_range().start(), -40);
    EXPECT_EQ(radio->get_rx_rate(), 7.68e6);
    EXPECT_EQ(radio->get_master_clock_rate(), 7.68e6);
}

TEST(Properties, the_nearest_rate_is_what_one_gets) {
    const auto rate = [](const std::string& args, double wish) {
        const auto radio = make(args);
        radio->set_rx_rate(wish);
        radio->set_tx_rate(wish);
        EXPECT_EQ(radio->get_rx_rate(), radio->get_tx_rate());
        return radio->get_rx_rate();
    };
    EXPECT_DOUBLE_EQ(rate("product=b210", 7.68e6), 7.68e6);
    EXPECT_DOUBLE_EQ(rate("product=n210", 7.68e6), 100e6 / 13);
    EXPECT_DOUBLE_EQ(rate("product=n210", 10e6), 10e6);
    EXPECT_DOUBLE_EQ(rate("product=x310", 7.68e6), 200e6 / 26);
    EXPECT_DOUBLE_EQ(rate("product=x310,master_clock_rate=184.32e6", 7.68e6), 7.68e6);
    EXPECT_DOUBLE_EQ(rate("product=e320", 7.68e6), 8e6);
    EXPECT_DOUBLE_EQ(rate("product=e320,master_clock_rate=30.72e6", 7.68e6), 7.68e6);
    EXPECT_DOUBLE_EQ(rate("product=n310,master_clock_rate=122.88e6", 7.68e6), 7.68e6);
    EXPECT_DOUBLE_EQ(rate("product=n320", 7.68e6), 7.68e6);
    EXPECT_DOUBLE_EQ(rate("product=x410", 7.68e6), 7.68e6);
    EXPECT_DOUBLE_EQ(rate("product=b200,master_clock_rate=100e6", 7.68e6),
                     7.68e6);  // the clock is forced to 61.44 MHz
    // falls back to the default clock
    EXPECT_DOUBLE_EQ(rate("product=x410,master_clock_rate=100e6", 7.68e6), 7.68e6);
    // the argument is ignored
    EXPECT_DOUBLE_EQ(rate("product=n210,master_clock_rate=61.44e6", 10e6), 10e6);
}

TEST(Properties, refusals_are_in_the_words_of_the_device) {
    EXPECT_NE(refusal("product=n310,master_clock_rate=100e6")
                  .find("Invalid master clock rate: 100.00 MHz"),
              std::string::npos);
    for (const char* clock : {"100e6", "120e6", "250e6"})
        EXPECT_NE(refusal(std::string("product=x310,master_clock_rate=") + clock)
                      .find("Can't infer daughterboard clock rate."),
                  std::string::npos);
    EXPECT_EQ(refusal("product=x310,master_clock_rate=190e6"), "");  // accepted with a warning
    EXPECT_NE(
        refusal("product=e320,master_clock_rate=80e6").find("Invalid master clock rate: 80.00 MHz"),
        std::string::npos);
    EXPECT_NE(refusal("product=b2100").find("product is b2100; valid: b200, b210,"),
              std::string::npos);
    EXPECT_NE(refusal("product=b210,ppm=200").find("ppm is 200; valid: a number from"),
              std::string::npos);
    const auto says = [](const std::string& args, auto action) {
        const auto radio = make(args);
        try {
            action(*radio);
        } catch (const std::exception& e) {
            return std::string(e.what());
        }
        return std::string();
    };
    EXPECT_NE(says("product=b200", [](usrp& u) { u.set_rx_antenna("RX1"); })
                  .find("b200: unknown RX antenna option: RX1"),
              std::string::npos);
    EXPECT_NE(says("product=x310", [](usrp& u) { u.set_rx_antenna("RX1"); })
                  .find("RX1 is not a valid ubx rx antenna name."),
              std::string::npos);
    EXPECT_NE(says("product=n320", [](usrp& u) { u.set_tx_antenna("X"); })
                  .find("Requesting invalid TX antenna value!"),
              std::string::npos);
    EXPECT_NE(says("product=b210", [](usrp& u) { u.set_rx_rate(70e6); })
                  .find("sampling rate exceeds maximum tick rate"),
              std::string::npos);
    EXPECT_NE(refusal("clock_source=gpsdo").find("unknown source: gpsdo"), std::string::npos);
    EXPECT_NE(refusal("reference=2").find("reference is 2; valid: a number from"),
              std::string::npos);
    const auto stream = [](const std::string& wire, std::size_t channel) {
        return [=](usrp& u) {
            uhd::stream_args_t a("fc32", wire);
            a.channels = {channel};
            u.get_rx_stream(a);
        };
    };
    EXPECT_NE(says("product=n210", stream("sc12", 0))
                  .find("USRP RX cannot handle requested wire format: sc12"),
              std::string::npos);
    EXPECT_NE(says("product=x410",
                   [](usrp& u) {
                       u.set_rx_rate(245.76e6);
                       u.get_rx_stream(uhd::stream_args_t("fc32", "sc16"));
                   })
                  .find("valid: up to 25 MS/s"),
              std::string::npos);
}

// --- what happens to samples ---

std::complex<double> component(const samples& x, double hz, double rate) {
    std::complex<double> sum;
    double weight = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
        // Hann window: what stands beside the tone is far down
        const double w = 1 - std::cos(2 * std::numbers::pi * (double(i) + 0.5) / double(x.size()));
        sum += w * std::complex<double>(x[i]) *
               std::polar(1.0, -2 * std::numbers::pi * hz / rate * double(i));
        weight += w;
    }
    return sum / weight;
}
double level_db(const samples& x, double hz, double rate) {
    return 20 * std::log10(std::abs(component(x, hz, rate)));
}

// DC offset, image, and the rounding of the converters, of each receiver with a transmitter without
// faults.
TEST(Samples, a_receiver_has_the_faults_of_its_product) {
    for (const product& p : products()) {
        SCOPED_TRACE(p.name);
        two_radios l("",
                     ",ppm=0,analog=0,product=" + p.name +
                         (p.name == "x310"   ? ",master_clock_rate=184.32e6"
                          : p.name == "e320" ? ",master_clock_rate=30.72e6"
                          : p.name == "n310" ? ",master_clock_rate=122.88e6"
                                             : ""),
                     7.68e6, p.name == "n210" ? 10e6 : 7.68e6);
        const double rate = l.terminal->get_rx_rate();
        l.terminal->set_rx_gain(10);
        l.base->set_tx_gain(-p.receive_level(db(10)).value);
        // no simple ratio to a rate, or the rounding would repeat itself
        const double hz = 617.3e3;
        l.hear(0.05, 20000);
        l.send(tone(hz, 7.68e6, 0.5, 40000), 0.048);
        const samples y = l.take(20000);
        ASSERT_EQ(y.size(), 20000u);
        EXPECT_NEAR(level_db(y, hz, rate), -6.02, 0.1);
        EXPECT_NEAR(level_db(y, 0, rate), p.receive.dc_dbfs, 1);
        EXPECT_NEAR(level_db(y, -hz, rate), -6.02 - p.receive.image_db, 1);
        // The rest is the rounding: full scale, a step of 2^-(bits-1), uniform in both parts.
        samples rest = y;
        for (double f : {hz, 0.0, -hz}) {
            const auto c = component(y, f, rate);
            for (std::size_t i = 0; i < rest.size(); ++i)
                rest[i] -= cf32(c * std::polar(1.0, 2 * std::numbers::pi * f / rate * double(i)));
        }
        double power = 0;
        for (const cf32& s : rest) power += std::norm(s);
        power = 10 * std::log10(power / double(rest.size()));
        const double step = 1 / (std::exp2(p.receive.bits - 1) - 1);
        const double expected = 10 * std::log10(step * step / 6);
        EXPECT_LT(power,
                  std::max(expected, -93.0) + 2);  // 16 bits round less than the filters' errors
        if (p.receive.bits <= 14) {
            EXPECT_GT(power, expected - 2);
        }
    }
}

TEST(Samples, a_transmitter_leaks_its_oscillator_and_an_image) {
    const product& p = find_product("n320");
    two_radios l(",ppm=0,analog=0,product=n320", "", 7.68e6, 7.68e6);
    l.base->set_tx_gain(60 - 15);  // 0 dBm
    const double hz = 625e3;
    l.hear(0.05, 20000);
    l.send(tone(hz, 7.68e6, 0.5, 40000), 0.048);
    const samples y = l.take(20000);
    ASSERT_EQ(y.size(), 20000u);
    EXPECT_NEAR(level_db(y, hz, 7.68e6), -6.02, 0.1);
    EXPECT_NEAR(level_db(y, 0, 7.68e6), p.transmit.dc_dbfs, 1);
    EXPECT_NEAR(level_db(y, -hz, 7.68e6), -6.02 - p.transmit.image_db, 1);
}

// The loss of three tones in both filters of a b210, changed while the streams run; a filter that
// is as wide as the medium takes nothing, and a new master clock opens a narrow one.
TEST(Samples, an_analog_filter_takes_the_edges_of_the_band) {
    const double tones[] = {300e3, 1.5e6, 2.5e6};
    const auto loss = [&](const std::string& kind, const auto& set) {
        two_radios l(",ppm=0,faults=0,product=" + kind, ",ppm=0,faults=0,product=" + kind, 7.68e6,
                     7.68e6);
        set(*l.base, *l.terminal);
        samples x(40000);
        for (const double hz : tones) {
            const samples one = tone(hz, 7.68e6, 0.25, x.size());
            for (std::size_t i = 0; i < x.size(); ++i) x[i] += one[i];
        }
        const product& p = find_product(kind.substr(0, kind.find(',')));
        l.base->set_tx_gain(p.transmit.gain.highest - p.transmit.full_scale.value - 11);
        const double level = -20 * std::log10(4) - 11 + p.receive_level(db(0)).value;
        l.hear(0.05, 20000);
        l.send(x, 0.048);
        const samples y = l.take(20000);
        std::vector<double> lost;
        for (const double hz : tones) lost.push_back(level - level_db(y, hz, 7.68e6));
        return lost;
    };
    const auto low_pass = [](double f, double third, double first) {
        return 10 * std::log10((1 + std::pow(f / third, 6)) * (1 + f / first * f / first));
    };
    for (const double b : {2e6, 5e6}) {
        const auto lost = loss("b210", [b](usrp& base, usrp& terminal) {
            base.set_tx_bandwidth(b + 1e6);
            terminal.set_rx_bandwidth(b);
        });
        for (std::size_t i = 0; i < lost.size(); ++i)
            EXPECT_NEAR(lost[i],
                        low_pass(tones[i], 0.7 * b, 1.25 * b) +
                            low_pass(tones[i], 0.8 * (b + 1e6), 2.5 * (b + 1e6)),
                        0.2)
                << b << " " << tones[i];
    }
    for (const char* wide : {"b210", "x310,master_clock_rate=184.32e6"})
        for (const double l : loss(wide, [](usrp&base, usrp&terminal) {
                 base.set_tx_bandwidth(base.get_mboard_name() == "X310" ? 1e6 : 56e6);
                 terminal.set_rx_bandwidth(1e6);
                 terminal.set_rx_rate(10e6);  // another rate changes the clock of a b210
                 terminal.set_rx_rate(7.68e6);
             }))
            EXPECT_NEAR(l, 0, 0.1) << wide;
}

// --- the analog edge ---

// Mean of a carrier that a b210 receives at this gain, against what the setting says.
std::complex<double> received_at(double gain, const std::string& more) {
    two_radios l("", ",ppm=0,product=b210" + more, 7.68e6, 7.68e6);
    l.terminal->set_rx_gain(gain);
    l.base->set_tx_gain(-find_product("b210").receive_level(db(gain)).value);
    l.hear(0.05, 20000);
    l.send(tone(617.3e3, 7.68e6, 0.5, 40000), 0.048);
    return component(l.take(20000), 617.3e3, 7.68e6) / 0.5;
}

TEST(AnalogEdge, a_gain_setting_is_off_and_stays_so) {
    std::vector<double> off;
    for (const double gain : {10.0, 20.0, 30.0, 40.0}) {
        const double level = 20 * std::log10(std::abs(received_at(gain, "")));
        EXPECT_LE(std::abs(level), 0.55) << gain;
        EXPECT_NEAR(20 * std::log10(std::abs(received_at(gain, ""))), level, 1e-2);
        EXPECT_NEAR(std::abs(received_at(gain, ",analog=0")), 1, 2e-3);
        off.push_back(level);
    }
    EXPECT_GT(*std::ranges::max_element(off) - *std::ranges::min_element(off), 0.02);
}

// The phase of a carrier before and behind tunes to another frequency and back.
TEST(AnalogEdge, an_lo_locks_with_another_phase_each_time) {
    const auto furthest = [](const std::string& args) {
        two_radios l(",hold=1", ",ppm=0,product=x310,master_clock_rate=184.32e6" + args, 7.68e6,
                     7.68e6);
        l.base->set_tx_gain(-10);
        std::vector<std::complex<double>> phasors;
        for (int i = 0; i < 4; ++i) {
            const double t = i == 0 ? 0.05 : l.terminal->get_time_now().get_real_secs() + 0.05;
            l.hear(t, 4000);
            l.send(tone(0, 7.68e6, 0.5, 40000), t - 0.002);
            phasors.push_back(component(l.take(4000), 0, 7.68e6));
            l.terminal->set_rx_freq(carrier + 30e6);
            l.terminal->set_rx_freq(carrier);
        }
        double turned = 0;
        for (const auto& h : phasors) turned = std::max(turned, std::abs(std::arg(h / phasors[0])));
        return turned;
    };
    EXPECT_NEAR(furthest(",analog=0"), 0, 0.01);
    const double once = furthest("");
    EXPECT_GT(once, 0.05);
    EXPECT_NEAR(furthest(""), once, 0.01);
}

// The chain of a transmitter delays by a fraction of a sample; what it holds when the burst ends is
// not sent, and the burst comes up over its ramp.
TEST(AnalogEdge, filters_delay_and_keep_the_end_of_a_burst) {
    const product& p = find_product("e320");
    const double delay = p.transmit.delay.in_samples(7.68e6);
    two_radios l(",ppm=0,product=e320,master_clock_rate=30.72e6", "", 7.68e6, 7.68e6);
    l.base->set_tx_gain(p.transmit.gain.highest - p.transmit.full_scale.value);  // 0 dBm
    constexpr std::size_t n = 8000;
    samples x = tone(0, 7.68e6, 0.5, n);
    const double pulse_at = 4000;
    for (std::size_t i = 0; i < n; ++i) {
        const double t = (double(i) - pulse_at) / 7.68;
        if (i > 3000 && i < 5000) x[i] = static_cast<float>(0.5 * std::exp(-t * t));
    }
    l.hear(0.05, n + 200);
    l.send(x, 0.05);
    const samples y = l.take(n + 200);
    ASSERT_EQ(y.size(), n + 200);
    double sum = 0, moment = 0;
    for (std::size_t i = 3500; i < 4500; ++i) {
        const double w = std::norm(y[i]) > 1e-2 ? std::norm(y[i]) : 0;
        sum += w, moment += w * double(i);
    }
    EXPECT_NEAR(moment / sum - pulse_at, delay, 0.02);
    EXPECT_GT(std::abs(delay - std::round(delay)), 0.1);
    // The burst is on the air for as long as it was sent, and its first samples are empty.
    const auto level = [&y](std::size_t i) { return std::abs(y[i]); };
    EXPECT_LT(level(0), 0.02);
    EXPECT_LT(level(std::size_t(delay) - 8), 0.02);
    EXPECT_NEAR(level(std::size_t(delay) + 40), level(2000), 0.01);
    EXPECT_NEAR(level(n - 1), level(2000), 0.01);
    EXPECT_LT(level(n), 1e-6);
}

// A receiver 2 ppm fast hears the carrier 3.6 kHz low, and a sample too many in half a million.
TEST(Samples, an_oscillator_makes_carrier_and_clock) {
    two_radios l("", ",ppm=2,analog=0,product=b210", 7.68e6, 7.68e6);
    l.terminal->set_rx_gain(10);
    l.base->set_tx_gain(-20);
    const double hz = 625e3;
    l.hear(0.2, 20000);
    l.send(tone(hz, 7.68e6, 0.5, 60000), 0.196);
    const samples y = l.take(20000);
    ASSERT_EQ(y.size(), 20000u);
    const auto phase = [&](std::size_t from) {
        return std::arg(component(samples(y.begin() + long(from), y.begin() + long(from) + 1000),
                                  hz - 3600, 7.68e6));
    };
    // The first thousand and the last, 10000 apart: what of the frequency is left over.
    const double turns =
        std::remainder(phase(15000) - phase(5000) - 2 * std::numbers::pi * 0 * (hz - 3600) / 7.68e6,
                       2 * std::numbers::pi);
    const double shift = 2 * std::numbers::pi * (hz - 3600) / 7.68e6 * 10000;
    const double left = std::remainder(turns - shift, 2 * std::numbers::pi);
    // 2 ppm of 625 kHz are 1.25 Hz: 0.01 rad in 10000 samples.
    EXPECT_NEAR(left / (2 * std::numbers::pi * 10000 / 7.68e6), -1.25, 0.4);
}

TEST(Samples, each_radio_has_an_error_of_its_own_and_keeps_it) {
    const double once = heard_off(",name=a");
    EXPECT_NEAR(once, heard_off(",name=a"), 1);
    EXPECT_LT(std::abs(once), 2e-6 * carrier + 10);
}

// An n210 at 10 MS/s: a pulse sent at a time of the medium's grid stands at that time, to a small
// fraction of a sample, in both directions.
TEST(Samples, times_are_exact_at_another_rate) {
    const auto pulse = [](double rate, double at, std::size_t n) {  // 1 MHz wide
        samples x(n);
        for (std::size_t i = 0; i < n; ++i) {
            const double t = (double(i) / rate - at) * 1e6;
            x[i] = static_cast<float>(0.5 * std::exp(-t * t));
        }
        return x;
    };
    const auto centre = [](const samples& y, double rate) {
        double sum = 0, moment = 0;
        for (std::size_t i = 0; i < y.size(); ++i) {
            const double w = std::norm(y[i]) > 1e-2 ? std::norm(y[i]) : 0;
            sum += w;
            moment += w * double(i) / rate;
        }
        return moment / sum;
    };
    const double tx_rate[] = {7.68e6, 10e6}, rx_rate[] = {10e6, 7.68e6};
    for (int i = 0; i < 2; ++i) {
        two_radios l(i ? ",ppm=0,analog=0,product=n210" : "",
                     i ? "" : ",ppm=0,analog=0,product=n210", tx_rate[i], rx_rate[i]);
        if (i) l.base->set_tx_gain(11.5);  // 0 dBm
        l.hear(0.05, 10000);
        l.send(pulse(tx_rate[i], 0.0005, 8000), 0.05);
        const samples y = l.take(10000);
        ASSERT_EQ(y.size(), 10000u);
        EXPECT_EQ(l.md.time_spec.to_ticks(rx_rate[i]), std::llround(0.05 * rx_rate[i]));
        EXPECT_NEAR(centre(y, rx_rate[i]) * 1e9, 0.0005 * 1e9, 2) << "ns, case " << i;
    }
}

// --- time ---

TEST(Time, samples_come_as_late_as_the_transport_makes_them) {
    two_radios l("", ",ppm=0,product=b210,latency_us=3000,spread_us=0", 7.68e6, 7.68e6);
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
        two_radios l("", args, 7.68e6, 7.68e6);
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
    const double x310 = step_at(",ppm=0,analog=0,product=x310,master_clock_rate=184.32e6");
    EXPECT_GE(x310, 0.06);
    EXPECT_LE(x310, 0.06 + 3e-6);
    EXPECT_LT(step_at(",ppm=0,analog=0,product=b210"), 0.0504);
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
    radio->clear_command_time();  // with a command time, reading the time would wait as well
    EXPECT_LT((radio->get_time_now() - begin).get_real_secs(), 0.7);
    radio->set_command_time(begin + uhd::time_spec_t(0.8));
    radio->set_rx_gain(5);
    radio->clear_command_time();
    EXPECT_GE((radio->get_time_now() - begin).get_real_secs(), 0.8);
}

}  // namespace
