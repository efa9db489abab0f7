// SPDX-License-Identifier: GPL-3.0-or-later
#include "vusrp/device.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <uhd/exception.hpp>
#include <uhd/property_tree.hpp>
#include <uhd/types/ranges.hpp>
#include <uhd/types/sensors.hpp>
#include <uhd/types/stream_cmd.hpp>
#include <uhd/usrp/dboard_eeprom.hpp>
#include <uhd/usrp/mboard_eeprom.hpp>
#include <uhd/usrp/subdev_spec.hpp>
#include <uhd/utils/log.hpp>

#include "air/medium_config.h"
#include "types/number_text.h"

namespace wip::vusrp {
namespace {

using strings = std::vector<std::string>;

const uhd::meta_range_t frequency_range(10e6, 6e9);
const uhd::meta_range_t dsp_range(-native_rate / 2, native_rate / 2);
const uhd::meta_range_t bandwidth_range(200e3, 7.68e6);
const uhd::meta_range_t transmit_gain_range(-80, 20, 0.25);
const uhd::meta_range_t receive_gain_range(-40, 60, 0.25);

double number(const uhd::device_addr_t& args, const std::string& key, double fallback, double low,
              double high) {
    if (!args.has_key(key)) return fallback;
    const auto value = read_number<double>(args[key]);
    if (!value || *value < low || *value > high)
        throw uhd::value_error("vusrp: device argument " + key + "=" + args[key] +
                               ": valid is a number from " + std::to_string(low) + " to " +
                               std::to_string(high));
    return *value;
}

std::shared_ptr<node_port> open_port(const uhd::device_addr_t& args) {
    try {
        if (args.has_key("air"))
            return node_port::attach(args["air"], node_of(args),
                                     number(args, "connect_timeout", 1, 0, 3600));
        private_air_config c;
        const std::string clock = args.get("clock", "realtime");
        if (clock != "realtime" && clock != "lockstep")
            throw uhd::value_error("device argument clock=" + clock +
                                   ": valid is realtime or lockstep");
        c.clock = clock == "lockstep" ? air::clock_kind::lockstep : air::clock_kind::realtime;
        c.speed = number(args, "speed", 1, 0.001, 100);
        c.noisy = args.has_key("noise_dbfs");
        c.noise_dbfs = number(args, "noise_dbfs", 0, -200, 20);
        c.gain_db = number(args, "gain_db", 0, -200, 100);
        c.delay_samples = static_cast<std::int64_t>(
            number(args, "delay", 0, 0, static_cast<double>(air::max_delay_samples)));
        return node_port::make_private(c);
    } catch (const std::runtime_error& e) {
        throw uhd::runtime_error(std::string("vusrp: ") + e.what());
    }
}

uhd::sensor_value_t locked(const char* name) {
    return uhd::sensor_value_t(name, true, "locked", "unlocked");
}

sample_format format_of(const uhd::stream_args_t& args) {
    const auto f = parse_format(args.cpu_format);
    if (!f)
        throw uhd::value_error("vusrp: cpu format '" + args.cpu_format +
                               "': valid is fc32, fc64 or sc16");
    if (!args.otw_format.empty() && args.otw_format != "sc16" && args.otw_format != "fc32")
        throw uhd::value_error("vusrp: over-the-wire format '" + args.otw_format +
                               "': valid is sc16 (samples are not quantised)");
    if (args.channels.size() > 1 || (args.channels.size() == 1 && args.channels[0] != 0))
        throw uhd::value_error("vusrp: channels: valid is 0, this radio has one");
    return *f;
}

std::size_t packet_of(const uhd::stream_args_t& args) {
    return static_cast<std::size_t>(
        number(args.args, "spp", static_cast<double>(default_samples_per_packet), 1, 65536));
}

}  // namespace

std::string node_of(const uhd::device_addr_t& args) { return args.get("node", "radio"); }

device::device(const uhd::device_addr_t& args) : port_(open_port(args)) {
    _type = uhd::device::USRP;
    _tree = uhd::property_tree::make();
    front_end_hz_[0] = front_end_hz_[1] = air::default_frequency;
    dsp_hz_[0] = dsp_hz_[1] = 0;
    hold_ = number(args, "hold", 0, 0, 1) != 0;
    make_motherboard(args);
    make_time();
    make_side(side::receive);
    make_side(side::transmit);
}

void device::make_motherboard(const uhd::device_addr_t& args) {
    const uhd::fs_path board = "/mboards/0";
    _tree->create<std::string>("/name").set("Software USRP");
    _tree->create<std::string>(board / "name").set("VUSRP");
    _tree->create<std::string>(board / "codename").set("openwip");
    _tree->create<std::string>(board / "fw_version").set("1.0");
    _tree->create<std::string>(board / "fpga_version").set("1.0");
    _tree->create<double>(board / "link_max_rate").set(1e9);
    uhd::usrp::mboard_eeprom_t eeprom;
    eeprom["name"] = args.get("name", "");
    eeprom["serial"] = args.get("serial", "");
    eeprom["product"] = "VUSRP";
    _tree->create<uhd::usrp::mboard_eeprom_t>(board / "eeprom").set(eeprom);
    _tree->create<double>(board / "tick_rate")
        .set_coercer([](double) { return native_rate; })
        .set(native_rate);
    _tree->create<uhd::meta_range_t>(board / "tick_rate/range")
        .set(uhd::meta_range_t(native_rate, native_rate));
    for (const char* source : {"clock_source", "time_source"}) {
        _tree->create<std::string>(board / source / "value").set("internal");
        _tree->create<strings>(board / source / "options").set({"internal", "external"});
    }
    _tree->create<uhd::sensor_value_t>(board / "sensors/ref_locked").set_publisher([] {
        return locked("Ref");
    });
    const std::shared_ptr<node_port> port = port_;
    _tree->create<uhd::sensor_value_t>(board / "sensors/air_connected").set_publisher([port] {
        return uhd::sensor_value_t("Air", port->connected(), "connected", "gone");
    });
    _tree->create<uhd::usrp::subdev_spec_t>(board / "rx_subdev_spec")
        .set(uhd::usrp::subdev_spec_t("A:0"));
    _tree->create<uhd::usrp::subdev_spec_t>(board / "tx_subdev_spec")
        .set(uhd::usrp::subdev_spec_t("A:0"));
}

void device::make_time() {
    const uhd::fs_path time = "/mboards/0/time";
    const std::shared_ptr<node_port> port = port_;
    _tree->create<uhd::time_spec_t>(time / "now")
        .set_publisher([this, port] {  // reading the time is a command too: it may be timed
            const tick when = command_time();
            const bool ahead = when > port->now();
            if (ahead) port->wait_until(when, 2.0);
            return to_time(ahead && port->now() >= when ? when : port->now(), port->offset());
        })
        .add_coerced_subscriber([port](const uhd::time_spec_t& t) {
            port->set_offset(t.to_ticks(native_rate) - port->now());
        });
    const tick second = static_cast<tick>(native_rate);
    _tree->create<uhd::time_spec_t>(time / "pps")
        .set_publisher([port, second] {  // the last edge: whole seconds of the medium
            const tick edge = port->now() / second * second;
            return to_time(edge, port->offset());
        })
        .add_coerced_subscriber([port, second](const uhd::time_spec_t& t) {
            const tick edge = port->running() ? (port->now() / second + 1) * second : 0;
            port->set_offset_at(edge, t.to_ticks(native_rate) - edge);
        });
    _tree->create<uhd::time_spec_t>(time / "cmd")
        .set(uhd::time_spec_t(0.0))
        .add_coerced_subscriber([this](const uhd::time_spec_t& t) {
            const std::lock_guard lock(mutex_);
            timed_ = t != uhd::time_spec_t(0.0);  // 0.0 is how UHD says "no command time"
            command_time_ = t;
        });
}

tick device::command_time() {
    const std::lock_guard lock(mutex_);
    return timed_ ? to_tick(command_time_, port_->offset()) : air::as_soon_as_possible;
}

void device::tune(side s) {
    const bool receive = s == side::receive;
    const int i = receive ? 0 : 1;
    // Sign of the digital shift: UHD turns it round for the transmitter.
    const double centre = front_end_hz_[i] + (receive ? -dsp_hz_[i] : dsp_hz_[i]);
    port_->command(
        receive ? air::command_kind::receive_frequency : air::command_kind::transmit_frequency,
        command_time(), centre);
}

void device::make_side(side s) {
    const bool receive = s == side::receive;
    const std::string rx = receive ? "rx" : "tx";
    const int i = receive ? 0 : 1;
    const uhd::fs_path board = "/mboards/0";
    const uhd::fs_path front = board / "dboards/A" / (rx + "_frontends") / "0";
    const uhd::fs_path dsp = board / (rx + "_dsps") / "0";

    _tree->create<std::string>(front / "name").set("Software " + rx);
    _tree->create<std::string>(front / "connection").set("IQ");
    const strings antennas = receive ? strings{"RX2", "TX/RX"} : strings{"TX/RX"};
    _tree->create<strings>(front / "antenna/options").set(antennas);
    _tree->create<std::string>(front / "antenna/value")
        .set_coercer([antennas](const std::string& a) {
            if (std::find(antennas.begin(), antennas.end(), a) == antennas.end())
                throw uhd::value_error("vusrp: antenna '" + a + "': valid is " + antennas[0] +
                                       (antennas.size() > 1 ? " or " + antennas[1] : ""));
            return a;
        })
        .set(antennas[0]);
    _tree->create<bool>(front / "enabled").set(true);
    _tree->create<bool>(front / "use_lo_offset").set(false);
    _tree->create<uhd::device_addr_t>(front / "tune_args").set(uhd::device_addr_t());
    _tree->create<uhd::sensor_value_t>(front / "sensors/lo_locked").set_publisher([] {
        return locked("LO");
    });
    _tree->create<uhd::meta_range_t>(front / "bandwidth/range").set(bandwidth_range);
    _tree->create<double>(front / "bandwidth/value")
        .set_coercer([](double b) { return bandwidth_range.clip(b); })
        .set(native_rate);

    const uhd::meta_range_t gains = receive ? receive_gain_range : transmit_gain_range;
    const std::string gain = receive ? "PGA0" : "PGA0";
    _tree->create<uhd::meta_range_t>(front / "gains" / gain / "range").set(gains);
    _tree->create<double>(front / "gains" / gain / "value")
        .set_coercer([gains](double g) { return gains.clip(g, true); })
        .set(0)
        .add_coerced_subscriber([this, receive](double g) {
            port_->command(
                receive ? air::command_kind::receive_gain : air::command_kind::transmit_gain,
                command_time(), g);
        });
    _tree->create<int>(board / (rx + "_codecs") / "A/gains");
    _tree->create<std::string>(board / (rx + "_codecs") / "A/name").set("none");
    uhd::usrp::dboard_eeprom_t eeprom;
    _tree->create<uhd::usrp::dboard_eeprom_t>(board / "dboards/A" / (rx + "_eeprom")).set(eeprom);

    _tree->create<uhd::meta_range_t>(front / "freq/range").set(frequency_range);
    _tree->create<double>(front / "freq/value")
        .set_coercer([](double f) { return frequency_range.clip(f); })
        .set(air::default_frequency)
        .add_coerced_subscriber([this, s, i](double f) {
            front_end_hz_[i] = f;
            tune(s);
        });
    _tree->create<uhd::meta_range_t>(dsp / "freq/range").set(dsp_range);
    _tree->create<double>(dsp / "freq/value")
        .set_coercer([](double f) { return dsp_range.clip(f); })
        .set(0)
        .add_coerced_subscriber([this, s, i](double f) {
            dsp_hz_[i] = f;
            tune(s);
        });
    _tree->create<uhd::meta_range_t>(dsp / "rate/range")
        .set(uhd::meta_range_t(native_rate, native_rate));
    _tree->create<double>(dsp / "rate/value")
        .set_coercer([rx](double r) {
            if (std::abs(r - native_rate) > 1)
                UHD_LOG_WARNING("VUSRP",
                                rx << " rate " << r / 1e6 << " MS/s is not possible: 7.68 MS/s");
            return native_rate;
        })
        .set(native_rate);
    if (receive)
        _tree->create<uhd::stream_cmd_t>(dsp / "stream_cmd")
            .add_coerced_subscriber([this](const uhd::stream_cmd_t& c) {
                if (const auto stream = receive_.lock()) stream->issue_stream_cmd(c);
            });
}

uhd::rx_streamer::sptr device::get_rx_stream(const uhd::stream_args_t& args) {
    if (receive_.lock()) throw uhd::runtime_error("vusrp: the receiver is streaming already");
    auto stream = std::make_shared<receive_stream>(port_, format_of(args), packet_of(args));
    receive_ = stream;
    return stream;
}

uhd::tx_streamer::sptr device::get_tx_stream(const uhd::stream_args_t& args) {
    if (transmit_.lock()) throw uhd::runtime_error("vusrp: the transmitter is streaming already");
    auto stream = std::make_shared<transmit_stream>(
        port_, format_of(args), packet_of(args), args.args.get("hold", hold_ ? "1" : "0") == "1");
    transmit_ = stream;
    return stream;
}

bool device::recv_async_msg(uhd::async_metadata_t& message, double timeout) {
    const auto stream = transmit_.lock();
    return stream && stream->recv_async_msg(message, timeout);
}

}  // namespace wip::vusrp
