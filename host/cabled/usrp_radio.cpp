// SPDX-License-Identifier: GPL-3.0-or-later
#include "cabled/usrp_radio.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <iomanip>
#include <map>
#include <sstream>
#include <thread>
#include <tuple>
#include <utility>

#include "cabled/common_time.h"
#include "types/failure.h"

namespace wip::cabled {
namespace {

using mix::sample_rate;
using mix::tick;

constexpr double rate_tolerance_hz = 1e-3;
constexpr double wait_s = 0.1;
constexpr double send_timeout_s = 1;
// How long a transmitter that was late or ran dry is silent: a device takes as long to drop samples
// as to send them, so one that is late stays late until a gap in the times, behind an end of burst
// (docs/explanation/software-usrp.md, rules 7 and 12).
constexpr tick rest = 76'800;

uhd::time_spec_t to_time(tick t) { return uhd::time_spec_t::from_ticks(t, sample_rate); }
tick to_tick(const uhd::time_spec_t& t) { return t.to_ticks(sample_rate); }

[[noreturn]] void refuse(const radio_config& c, const std::string& why) {
    throw bad_input("nodes." + c.node + ".radio is '" + c.arguments + "': " + why);
}

void need_channel(const radio_config& c, std::size_t nof_channels, const char* what) {
    if (c.channel >= nof_channels)
        refuse(c, "channel " + std::to_string(c.channel) + " of " + std::to_string(nof_channels) +
                      " " + what + " (nodes." + c.node + ".channel)");
}

void need_rate(const radio_config& c, double got) {
    if (std::abs(got - sample_rate) > rate_tolerance_hz)
        refuse(c, "it gives " + std::to_string(got) +
                      " samples/s; valid: 7680000 exactly (another master_clock_rate?)");
}

// UHD takes the nearest gain that a radio has, without a word.
void need_gain(const radio_config& c, const char* key, double wanted,
               const uhd::gain_range_t& valid) {
    if (wanted >= valid.start() && wanted <= valid.stop()) return;
    std::ostringstream why;
    why << "nodes." << c.node << "." << key << " is " << wanted
        << "; valid with this radio: " << valid.start() << ".." << valid.stop() << " dB";
    throw bad_input(why.str());
}

// UHD looks at the channels of one stream only; here each has its own.
void need_clock_for_two(uhd::usrp::multi_usrp& device, const radio_config& c) {
    constexpr double highest_hz = 30.72e6;
    if (!device.get_mboard_name().starts_with("B2") ||
        device.get_master_clock_rate() < highest_hz + 1)
        return;
    refuse(c, "its master clock is " + std::to_string(device.get_master_clock_rate()) +
                  " Hz; valid: up to 30720000 for two channels (master_clock_rate=30.72e6)");
}

// External and gpsdo references: until they are there.
void wait_for_reference(uhd::usrp::multi_usrp& device, const radio_config& c) {
    if (c.clock_source == "internal") return;
    const auto sensors = device.get_mboard_sensor_names();
    if (std::find(sensors.begin(), sensors.end(), "ref_locked") == sensors.end()) return;
    for (int tenths = 0; tenths < 50; ++tenths) {
        if (device.get_mboard_sensor("ref_locked").to_bool()) return;
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
    refuse(c, "ref_locked is false after 5 s: no 10 MHz at its reference input (clock_source " +
                  c.clock_source + ")");
}

uhd::usrp::multi_usrp::sptr open(const radio_config& c) try {
    auto device = uhd::usrp::multi_usrp::make(uhd::device_addr_t(c.arguments));
    if (device->get_num_mboards() != 1)
        refuse(c, "it is " + std::to_string(device->get_num_mboards()) +
                      " devices; valid: one, a node for each");
    if (device->get_clock_source(0) != c.clock_source) device->set_clock_source(c.clock_source);
    if (device->get_time_source(0) != c.time_source) device->set_time_source(c.time_source);
    wait_for_reference(*device, c);
    return device;
} catch (const uhd::exception& e) {
    refuse(c, e.what());
}

class usrp_time final : public timed_device {
public:
    usrp_time(uhd::usrp::multi_usrp::sptr device, const radio_config& config)
        : device_(std::move(device)), config_(config) {}

    std::string name() const override {
        return "nodes." + config_.node + ".radio = '" + config_.arguments + "'";
    }
    bool takes_pulses() const override { return config_.time_source != "internal"; }
    tick time_of_last_edge() override { return to_tick(device_->get_time_last_pps()); }
    void set_time_at_next_edge(tick time) override { device_->set_time_next_pps(to_time(time)); }
    tick now() override { return to_tick(device_->get_time_now()); }

private:
    uhd::usrp::multi_usrp::sptr device_;
    radio_config config_;
};

}  // namespace

usrp_radio::usrp_radio(uhd::usrp::multi_usrp::sptr device, const radio_config& config,
                       double frequency_hz) try
    : device_(std::move(device)), config_(config) {
    const std::size_t ch = config.channel;
    need_channel(config, device_->get_rx_num_channels(), "receive channels");
    need_channel(config, device_->get_tx_num_channels(), "transmit channels");
    device_->set_rx_rate(sample_rate, ch);
    device_->set_tx_rate(sample_rate, ch);
    need_rate(config, device_->get_rx_rate(ch));
    need_rate(config, device_->get_tx_rate(ch));
    device_->set_rx_freq(uhd::tune_request_t(frequency_hz), ch);
    device_->set_tx_freq(uhd::tune_request_t(frequency_hz), ch);
    need_gain(config, "receive_gain_db", config.receive_gain_db, device_->get_rx_gain_range(ch));
    need_gain(config, "transmit_gain_db", config.transmit_gain_db, device_->get_tx_gain_range(ch));
    device_->set_rx_gain(config.receive_gain_db, ch);
    device_->set_tx_gain(config.transmit_gain_db, ch);
    // get_time_now() looks for it by its name each time, which is most of what asking costs.
    const auto tree = device_->get_tree();
    if (const char* at = "/mboards/0/time/now"; tree->exists(at))
        now_ = &tree->access<uhd::time_spec_t>(at);
} catch (const uhd::exception& e) {
    refuse(config, e.what());
}

void usrp_radio::start(tick time, bool receives, bool transmits) {
    uhd::stream_args_t args("fc32", "sc16");
    args.channels = {config_.channel};
    if (transmits) transmitter_ = device_->get_tx_stream(args);
    if (!receives) return;
    receiver_ = device_->get_rx_stream(args);
    uhd::stream_cmd_t command(uhd::stream_cmd_t::STREAM_MODE_START_CONTINUOUS);
    command.stream_now = false;
    command.time_spec = to_time(time);
    receiver_->issue_stream_cmd(command);
}

fading_radio::received usrp_radio::receive(std::span<mix::cf32> out) {
    uhd::rx_metadata_t metadata;
    const std::size_t n = receiver_->recv(out.data(), out.size(), metadata, wait_s);
    using error = uhd::rx_metadata_t;
    switch (metadata.error_code) {
        case error::ERROR_CODE_NONE:
            if (n == 0) return {};
            return {received::samples, to_tick(metadata.time_spec), n};
        case error::ERROR_CODE_TIMEOUT:
            return {};
        case error::ERROR_CODE_LATE_COMMAND:
            throw machine_error("nodes." + config_.node +
                                ": the stream was to begin in the past (fader.start_delay_s "
                                "is too short)");
        default:
            return {received::lost, 0, 0};
    }
}

void usrp_radio::send(tick time, std::span<const mix::cf32> x) {
    if (resumes_ && time < *resumes_) return;
    if (resumes_) {
        listen();  // discards events of the old burst
        resumes_.reset();
        is_behind_ = false;
    }
    uhd::tx_metadata_t metadata;
    metadata.has_time_spec = true;
    metadata.start_of_burst = burst_begins_;
    burst_begins_ = metadata.end_of_burst = is_behind_;
    if (is_behind_) resumes_ = time + static_cast<tick>(x.size()) + rest;
    for (std::size_t done = 0; done < x.size();) {
        metadata.time_spec = to_time(time + static_cast<tick>(done));
        const std::size_t n =
            transmitter_->send(x.data() + done, x.size() - done, metadata, send_timeout_s);
        metadata.start_of_burst = false;
        if (n == 0) {  // the device reports no event for this
            ++events_.stalls;
            is_behind_ = true;  // later samples would be early by the missing ones
            return;
        }
        done += n;
    }
}

void usrp_radio::listen() {
    uhd::async_metadata_t m;
    while (transmitter_->recv_async_msg(m, 0)) {
        using code = uhd::async_metadata_t;
        const bool late = m.event_code == code::EVENT_CODE_TIME_ERROR;
        const bool dry = m.event_code == code::EVENT_CODE_UNDERFLOW ||
                         m.event_code == code::EVENT_CODE_UNDERFLOW_IN_PACKET;
        events_.late += late;
        events_.underflows += dry;
        is_behind_ |= late || dry;
    }
}

fading_radio::events usrp_radio::take_events() {
    listen();
    return std::exchange(events_, {});
}

void usrp_radio::stop() {
    if (receiver_) receiver_->issue_stream_cmd(uhd::stream_cmd_t::STREAM_MODE_STOP_CONTINUOUS);
    if (transmitter_ && !burst_begins_) {
        uhd::tx_metadata_t metadata;
        metadata.end_of_burst = true;
        transmitter_->send("", 0, metadata, send_timeout_s);
    }
    burst_begins_ = true;
    is_behind_ = false;
    resumes_.reset();
    receiver_.reset();
    transmitter_.reset();
}

tick usrp_radio::now() { return to_tick(now_ ? now_->get() : device_->get_time_now()); }

nlohmann::json usrp_radio::identity() const {
    const auto rx = device_->get_usrp_rx_info(config_.channel);
    const auto tx = device_->get_usrp_tx_info(config_.channel);
    nlohmann::json out;
    for (const auto& [name, info, key] : {std::tuple{"product", &rx, "mboard_id"},
                                          {"name", &rx, "mboard_name"},
                                          {"serial", &rx, "mboard_serial"},
                                          {"receiver", &rx, "rx_id"},
                                          {"receiver_serial", &rx, "rx_serial"},
                                          {"transmitter", &tx, "tx_id"},
                                          {"transmitter_serial", &tx, "tx_serial"}})
        out[name] = info->get(key, "");
    return out;
}

std::vector<std::unique_ptr<usrp_radio>> open_radios(const fader_config& config) {
    std::map<std::string, uhd::usrp::multi_usrp::sptr> devices;
    std::vector<std::unique_ptr<usrp_radio>> radios;
    std::vector<usrp_time> times;
    for (const radio_config& c : config.radios) {
        auto& device = devices[c.arguments];
        const bool second = device != nullptr;
        if (!device) {
            device = open(c);
            times.emplace_back(device, c);
        }
        radios.push_back(std::make_unique<usrp_radio>(device, c, config.frequency_hz));
        if (second) need_clock_for_two(*device, c);
    }
    std::vector<timed_device*> all;
    for (usrp_time& t : times) all.push_back(&t);
    give_common_time(
        all, [](double s) { std::this_thread::sleep_for(std::chrono::duration<double>(s)); });
    return radios;
}

}  // namespace wip::cabled
