// SPDX-License-Identifier: GPL-3.0-or-later
#include "radio/device.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <numbers>
#include <stdexcept>
#include <utility>

#include "types/failure.h"
#include "types/grid.h"

namespace wip::radio {
namespace {

constexpr double timeout_s = 3;
constexpr int attempts = 5;  // at a reception without a gap
constexpr double lo_timeout_s = 1;

void wait_for_lo(usrp& radio, side s) {
    const auto names =
        s == side::receive ? radio.get_rx_sensor_names(0) : radio.get_tx_sensor_names(0);
    if (std::find(names.begin(), names.end(), "lo_locked") == names.end()) return;
    const auto locked = [&] {
        return (s == side::receive ? radio.get_rx_sensor("lo_locked", 0)
                                   : radio.get_tx_sensor("lo_locked", 0))
            .to_bool();
    };
    for (double waited = 0; !locked(); waited += 0.01) {
        if (waited > lo_timeout_s)
            throw machine_error("the oscillator of the mixer does not lock (sensor lo_locked)");
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
}

void check_range(const char* what, double value, const uhd::meta_range_t& valid, const char* unit) {
    if (value >= valid.start() && value <= valid.stop()) return;
    char text[160];
    std::snprintf(text, sizeof text, "%s %.10g %s; valid: %.10g..%.10g %s", what, value, unit,
                  valid.start(), valid.stop(), unit);
    throw std::invalid_argument(text);
}

}  // namespace

usrp::sptr open(const std::string& arguments) { return usrp::make(uhd::device_addr_t(arguments)); }

station_rate set_rate(usrp& radio, side s) {
    const auto ask = [&](double hz) {
        s == side::receive ? radio.set_rx_rate(hz, 0) : radio.set_tx_rate(hz, 0);
        return s == side::receive ? radio.get_rx_rate(0) : radio.get_tx_rate(0);
    };
    constexpr double wanted = sample_rate_hz;
    const double first = ask(wanted);
    const double clock = radio.get_master_clock_rate(0);
    if (std::abs(first - wanted) < 1) return {clock, first, false};
    auto divider = static_cast<long>(clock / wanted);
    if (divider > 1) divider -= divider % 2;
    if (divider < 1)
        throw bad_input("the clock of the radio is " + std::to_string(clock / 1e6) +
                        " MHz; valid: 7.68 MHz or more");
    const double hz = clock / static_cast<double>(divider);
    if (const double got = ask(hz); std::abs(got - hz) > 1)
        throw bad_input("the sample rate of the radio is " + std::to_string(got / 1e6) +
                        " MS/s; valid: 7.68, or " + std::to_string(hz / 1e6));
    return {clock, hz, true};
}

tuned tune(usrp& radio, side s, const tuning& wish) {
    const bool receive = s == side::receive;
    if (!wish.antenna.empty())
        receive ? radio.set_rx_antenna(wish.antenna, 0) : radio.set_tx_antenna(wish.antenna, 0);
    const uhd::freq_range_t hz = receive ? radio.get_rx_freq_range(0) : radio.get_tx_freq_range(0);
    check_range("frequency", wish.frequency_hz, hz, "Hz");
    const uhd::gain_range_t gains =
        receive ? radio.get_rx_gain_range(0) : radio.get_tx_gain_range(0);
    // A transmitter is as quiet as it can be unless a gain is given.
    const double gain =
        wish.gain_db.value_or(receive ? (gains.start() + gains.stop()) / 2 : gains.start());
    check_range(receive ? "receive gain" : "transmit gain", gain, gains, "dB");
    receive ? radio.set_rx_gain(gain, 0) : radio.set_tx_gain(gain, 0);
    const uhd::tune_result_t at =
        receive ? radio.set_rx_freq(wish.frequency_hz, 0) : radio.set_tx_freq(wish.frequency_hz, 0);
    wait_for_lo(radio, s);
    return {.frequency_hz = receive ? radio.get_rx_freq(0) : radio.get_tx_freq(0),
            .lo_hz = at.actual_rf_freq,
            .gain_db = receive ? radio.get_rx_gain(0) : radio.get_tx_gain(0),
            .gain_lowest_db = gains.start(),
            .gain_highest_db = gains.stop(),
            .antenna = receive ? radio.get_rx_antenna(0) : radio.get_tx_antenna(0)};
}

receiver::receiver(usrp::sptr radio)
    : radio_(std::move(radio)), stream_(radio_->get_rx_stream(uhd::stream_args_t("fc32"))) {
    uhd::stream_cmd_t start(uhd::stream_cmd_t::STREAM_MODE_START_CONTINUOUS);
    start.stream_now = true;
    stream_->issue_stream_cmd(start);
}

receiver::~receiver() {
    try {
        stream_->issue_stream_cmd(uhd::stream_cmd_t::STREAM_MODE_STOP_CONTINUOUS);
    } catch (const std::exception&) {  // the radio is gone, so there is nothing to stop
    }
}

std::vector<cf32> receiver::take(std::size_t count, std::size_t skip) {
    std::vector<cf32> samples(count + skip);
    int begun = 1;
    for (std::size_t done = 0; done < samples.size();) {
        uhd::rx_metadata_t about;
        done += stream_->recv(samples.data() + done, samples.size() - done, about, timeout_s);
        if (about.error_code == uhd::rx_metadata_t::ERROR_CODE_NONE) continue;
        if (about.error_code != uhd::rx_metadata_t::ERROR_CODE_OVERFLOW)
            throw machine_error("the radio delivers no samples: " + about.strerror());
        ++gaps_;
        if (++begun > attempts)
            throw machine_error(
                "samples are lost in each of 5 attempts: this computer does not keep up (./openwip "
                "doctor says what it lacks)");
        done = 0;
    }
    samples.erase(samples.begin(), samples.begin() + static_cast<std::ptrdiff_t>(skip));
    return samples;
}

tone::tone(usrp::sptr radio, int cycles, double amplitude)
    : radio_(std::move(radio)),
      stream_(radio_->get_tx_stream(uhd::stream_args_t("fc32"))),
      samples_(period) {
    for (int n = 0; n < period; ++n)
        samples_[static_cast<std::size_t>(n)] =
            cf32(std::polar(amplitude, 2 * std::numbers::pi * (cycles * n % period) / period));
    thread_ = std::thread([this] {
        uhd::tx_metadata_t about;
        about.start_of_burst = true;
        try {
            while (!ends_) {
                stream_->send(samples_.data(), samples_.size(), about, 0.5);
                about.start_of_burst = false;
            }
            about.end_of_burst = true;
            stream_->send("", 0, about, 0.5);
        } catch (const std::exception&) {  // the radio is gone, which the receiver reports
        }
    });
}

tone::~tone() {
    ends_ = true;
    thread_.join();
}

int tone::gaps() {
    uhd::async_metadata_t event;
    while (stream_->recv_async_msg(event, 0))
        gaps_ += event.event_code != uhd::async_metadata_t::EVENT_CODE_BURST_ACK;
    return gaps_;
}

}  // namespace wip::radio
