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
#include "sample/snr_range.h"
#include "types/number_text.h"

namespace wip::vusrp {
namespace {

using strings = std::vector<std::string>;

constexpr double native_rate = air::sample_rate;
constexpr double fastest_stream = 25e6;  // what a computer can be expected to resample
constexpr double queue_timeout_s = 10;   // UHD's, for a command that waits for others

std::shared_ptr<node_port> open_port(const uhd::device_addr_t& args) {
    try {
        if (args.has_key("air"))
            return node_port::attach(args["air"], node_of(args),
                                     number_of(args, "connect_timeout", 1, 0, 3600));
        private_air_config c;
        const std::string clock = args.get("clock", "realtime");
        if (clock != "realtime" && clock != "lockstep")
            throw uhd::value_error("device argument clock=" + clock +
                                   ": valid is realtime or lockstep");
        c.clock = clock == "lockstep" ? air::clock_kind::lockstep : air::clock_kind::realtime;
        c.speed = number_of(args, "speed", 1, 0.001, 100);
        c.noisy = args.has_key("noise_dbfs");
        c.noise_dbfs = number_of(args, "noise_dbfs", 0, sample_model::lowest_noise_dbfs,
                                 sample_model::highest_noise_dbfs);
        c.gain_db = number_of(args, "gain_db", 0, -200, 100);
        c.delay_samples = static_cast<std::int64_t>(
            number_of(args, "delay", 0, 0, static_cast<double>(air::max_delay_samples)));
        return node_port::make_private(c);
    } catch (const std::runtime_error& e) {
        throw uhd::runtime_error(std::string("vusrp: ") + e.what());
    }
}

sample_format format_of(const uhd::stream_args_t& args, const radio_model& model, side s) {
    const auto f = parse_format(args.cpu_format);
    if (!f)
        throw uhd::value_error("vusrp: cpu format '" + args.cpu_format +
                               "': valid is fc32, fc64 or sc16");
    if (!args.otw_format.empty() && args.otw_format != "sc16" && args.otw_format != "fc32") {
        if (!model.ideal())
            throw uhd::value_error(std::string("USRP ") + (s == side::receive ? "RX" : "TX") +
                                   " cannot handle requested wire format: " + args.otw_format);
        throw uhd::value_error("vusrp: over-the-wire format '" + args.otw_format +
                               "': valid is sc16 (samples are not quantised)");
    }
    if (args.channels.size() > 1 || (args.channels.size() == 1 && args.channels[0] != 0)) {
        const int has = model.ideal() ? 1 : model.kind().channels;
        throw uhd::value_error(
            "vusrp: channels: valid is 0, this radio has one" +
            (has > 1 ? " (of the " + std::to_string(has) + " of a " + model.kind().board + ")"
                     : std::string()));
    }
    if (model.rate(s).hz() > fastest_stream + 1)
        throw uhd::runtime_error(std::string("vusrp: ") + name_of(s) + " rate " +
                                 std::to_string(model.rate(s).hz() / 1e6) +
                                 " MS/s: the software radio streams up to 25 MS/s");
    return *f;
}

}  // namespace

std::string node_of(const uhd::device_addr_t& args) { return args.get("node", "radio"); }

struct device::side_properties {
    std::string front, gain_name;
    uhd::meta_range_t gains, frequency, bandwidth, dsp;
    double bandwidth_hz;
    strings antennas;
};

device::side_properties device::properties(side s) const {
    const bool receive = s == side::receive;
    if (model_.ideal())
        return {
            .front = std::string("Software ") + name_of(s),
            .gain_name = "PGA0",
            .gains = receive ? uhd::meta_range_t(-40, 60, 0.25) : uhd::meta_range_t(-80, 20, 0.25),
            .frequency = {10e6, 6e9},
            .bandwidth = {200e3, 7.68e6},
            .dsp = {-native_rate / 2, native_rate / 2},
            .bandwidth_hz = native_rate,
            .antennas = receive ? strings{"RX2", "TX/RX"} : strings{"TX/RX"}};
    const product& kind = model_.kind();
    const front_end& f = model_.front(s);
    const double clock = model_.clock();
    return {.front = kind.front,
            .gain_name = kind.gain_name,
            .gains = {f.gain.lowest, f.gain.highest, f.gain.step},
            .frequency = {kind.lowest_hz, kind.highest_hz},
            .bandwidth = {f.bandwidth.lowest, f.bandwidth.highest},
            .dsp = {-clock / 2, clock / 2},
            .bandwidth_hz = f.bandwidth.initial,
            .antennas = f.antennas};
}

device::device(const uhd::device_addr_t& args)
    : model_(args), port_(open_port(args)), inputs_(inputs_of(args)) {
    _type = uhd::device::USRP;
    _tree = uhd::property_tree::make();
    front_end_hz_[0] = front_end_hz_[1] = air::default_frequency;
    dsp_hz_[0] = dsp_hz_[1] = 0;
    hold_ = number_of(args, "hold", 0, 0, 1) != 0;
    make_motherboard(args);
    make_time(args);
    make_sources(args);
    make_side(side::receive);
    make_side(side::transmit);
}

void device::make_motherboard(const uhd::device_addr_t& args) {
    const uhd::fs_path board = "/mboards/0";
    const std::string name = model_.ideal() ? "VUSRP" : model_.kind().board;
    _tree->create<std::string>("/name").set(model_.ideal() ? "Software USRP"
                                                           : "Software USRP, as a " + name);
    _tree->create<std::string>(board / "name").set(name);
    _tree->create<std::string>(board / "codename").set("openwip");
    _tree->create<std::string>(board / "fw_version").set("1.0");
    _tree->create<std::string>(board / "fpga_version").set("1.0");
    _tree->create<double>(board / "link_max_rate").set(1e9);
    uhd::usrp::mboard_eeprom_t eeprom;
    eeprom["name"] = args.get("name", "");
    eeprom["serial"] = args.get("serial", "");
    eeprom["product"] = name;
    _tree->create<uhd::usrp::mboard_eeprom_t>(board / "eeprom").set(eeprom);
    _tree->create<double>(board / "tick_rate")
        .set_coercer([this](double hz) { return model_.set_clock(hz); })
        .set_publisher([this] { return model_.clock(); });
    uhd::meta_range_t clocks(model_.clock(), model_.clock());
    if (!model_.ideal() && model_.kind().clock.wrong == wrong_clock::force)
        clocks = {static_cast<double>(model_.kind().clock.lowest),
                  static_cast<double>(model_.kind().clock.highest)};
    _tree->create<uhd::meta_range_t>(board / "tick_rate/range").set(clocks);
    const uhd::usrp::subdev_spec_t spec(model_.ideal() ? "A:0" : model_.kind().subdevice);
    for (const char* node : {"rx_subdev_spec", "tx_subdev_spec"})
        _tree->create<uhd::usrp::subdev_spec_t>(board / node).set(spec);
}

tick device::command_time() {
    const std::lock_guard lock(mutex_);
    return timed_ ? model_.medium_of_own(
                        to_sample(command_time_, {model_.base().clock}, port_->offset()))
                  : air::as_soon_as_possible;
}

tick device::execution_time() {
    const tick asked = command_time();
    if (model_.ideal()) return asked;
    if (!port_->running()) return model_.timed_commands() ? asked : air::as_soon_as_possible;
    const std::lock_guard lock(queue_mutex_);
    const tick arrived = port_->now() + model_.latency() + model_.random_spread();
    // What is under way does not overtake: a spread that is smaller this time changes no order.
    if (!model_.timed_commands())
        return last_command_ = std::max(last_command_, arrived + model_.random_settling());
    const auto full = [this] {
        while (!queue_.empty() && queue_.front() <= port_->now()) queue_.pop_front();
        return queue_.size() >= static_cast<std::size_t>(model_.kind().command_queue);
    };
    if (full()) {
        port_->wait_until(queue_.front(), queue_timeout_s);
        if (full())
            throw uhd::runtime_error("vusrp: the command queue of this radio is full (" +
                                     std::to_string(queue_.size()) + " timed commands)");
    }
    // Executed in the order given, so none before the last one.
    const tick begins = std::max({asked, arrived, last_command_});
    const tick holds = last_command_ = begins + model_.random_settling();
    if (asked > arrived || !queue_.empty()) queue_.push_back(holds);
    return holds;
}

void device::tune(side s) {
    const bool receive = s == side::receive;
    const int i = receive ? 0 : 1;
    // Sign of the digital shift: UHD turns it round for the transmitter.
    const double centre = front_end_hz_[i] + (receive ? -dsp_hz_[i] : dsp_hz_[i]);
    port_->command(
        receive ? air::command_kind::receive_frequency : air::command_kind::transmit_frequency,
        execution_time(), model_.carrier(centre));
}

void device::set_level(side s, double gain) {
    port_->command(
        s == side::receive ? air::command_kind::receive_gain : air::command_kind::transmit_gain,
        execution_time(), model_.level_db(s, gain));
}

void device::make_side(side s) {
    const std::string name = name_of(s);
    const uhd::fs_path board = "/mboards/0";
    const uhd::fs_path dsp = board / (name + "_dsps") / "0";
    const side_properties p = properties(s);
    _tree->create<int>(board / (name + "_codecs") / "A/gains");
    _tree->create<std::string>(board / (name + "_codecs") / "A/name").set("none");
    uhd::usrp::dboard_eeprom_t eeprom;
    _tree->create<uhd::usrp::dboard_eeprom_t>(board / "dboards/A" / (name + "_eeprom")).set(eeprom);
    make_antennas(s, p);
    make_tuning(s, p);
    make_rate(s, dsp);
    if (model_.calibrated()) make_power(s, p);
}

uhd::fs_path device::front_path(side s) const {
    const std::string name = model_.ideal() ? "0" : model_.kind().subdevice.substr(2);
    return uhd::fs_path("/mboards/0/dboards/A") / (std::string(name_of(s)) + "_frontends") / name;
}

void device::make_antennas(side s, const side_properties& p) {
    const uhd::fs_path front = front_path(s);
    _tree->create<std::string>(front / "name").set(p.front);
    _tree->create<std::string>(front / "connection").set("IQ");
    const strings antennas = p.antennas;
    _tree->create<strings>(front / "antenna/options").set(antennas);
    _tree->create<std::string>(front / "antenna/value")
        .set_coercer([this, s, antennas](const std::string& a) {
            if (std::find(antennas.begin(), antennas.end(), a) != antennas.end()) return a;
            if (!model_.ideal()) throw uhd::value_error(model_.antenna_refusal(s, a));
            throw uhd::value_error("vusrp: antenna '" + a + "': valid is " + antennas[0] +
                                   (antennas.size() > 1 ? " or " + antennas[1] : ""));
        })
        .set(antennas[0]);
    _tree->create<bool>(front / "enabled").set(true);
    _tree->create<bool>(front / "use_lo_offset").set(false);
    _tree->create<uhd::device_addr_t>(front / "tune_args").set(uhd::device_addr_t());
    _tree->create<uhd::sensor_value_t>(front / "sensors/lo_locked").set_publisher([this] {
        return uhd::sensor_value_t("LO", inputs_.lo, "locked", "unlocked");
    });
}

void device::make_tuning(side s, const side_properties& p) {
    const uhd::fs_path front = front_path(s);
    const uhd::fs_path dsp = uhd::fs_path("/mboards/0") / (std::string(name_of(s)) + "_dsps/0");
    const int i = s == side::receive ? 0 : 1;
    _tree->create<uhd::meta_range_t>(front / "bandwidth/range").set(p.bandwidth);
    _tree->create<double>(front / "bandwidth/value")
        .set_coercer([this, s, range = p.bandwidth](double b) {
            return model_.ideal() ? range.clip(b) : model_.set_bandwidth(s, b);
        })
        .set(p.bandwidth_hz);
    _tree->create<uhd::meta_range_t>(front / "gains" / p.gain_name / "range").set(p.gains);
    _tree->create<double>(front / "gains" / p.gain_name / "value")
        .set_coercer([range = p.gains](double g) { return range.clip(g, true); })
        .set(0)
        .add_coerced_subscriber([this, s](double g) { set_level(s, g); });
    if (!model_.ideal()) set_level(s, 0);

    _tree->create<uhd::meta_range_t>(front / "freq/range").set(p.frequency);
    _tree->create<double>(front / "freq/value")
        .set_coercer([range = p.frequency](double f) { return range.clip(f); })
        .set(air::default_frequency)
        .add_coerced_subscriber([this, s, i](double f) {
            front_end_hz_[i] = f;
            tune(s);
        });
    _tree->create<uhd::meta_range_t>(dsp / "freq/range").set(p.dsp);
    _tree->create<double>(dsp / "freq/value")
        .set_coercer([range = p.dsp](double f) { return range.clip(f); })
        .set(0)
        .add_coerced_subscriber([this, s, i](double f) {
            dsp_hz_[i] = f;
            tune(s);
        });
}

// As of a radio with data of uhd_power_cal.py. Setting the reference power is setting the gain.
void device::make_power(side s, const side_properties& p) {
    const uhd::fs_path power = front_path(s) / "ref_power";
    const uhd::fs_path gain = front_path(s) / "gains" / p.gain_name / "value";
    const double a = model_.reference_dbm(s, p.gains.start()),
                 b = model_.reference_dbm(s, p.gains.stop());
    _tree->create<std::string>(power / "key").set("openwip");
    _tree->create<std::string>(power / "serial").set("");
    _tree->create<uhd::meta_range_t>(power / "range")
        .set(uhd::meta_range_t(std::min(a, b), std::max(a, b), p.gains.step()));
    _tree->create<double>(power / "value")
        .set_coercer([this, s, gain](double dbm) {
            _tree->access<double>(gain).set(model_.gain_for(s, dbm));
            return model_.reference_dbm(s, _tree->access<double>(gain).get());
        })
        .set_publisher(
            [this, s, gain] { return model_.reference_dbm(s, _tree->access<double>(gain).get()); });
}

void device::make_rate(side s, const uhd::fs_path& dsp) {
    if (model_.ideal()) {
        _tree->create<uhd::meta_range_t>(dsp / "rate/range")
            .set(uhd::meta_range_t(native_rate, native_rate));
    } else {
        _tree->create<uhd::meta_range_t>(dsp / "rate/range").set_publisher([this] {
            uhd::meta_range_t rates;
            const std::vector<std::int64_t> ratios = model_.kind().ratios();
            for (auto ratio = ratios.rbegin(); ratio != ratios.rend(); ++ratio)
                rates.push_back(uhd::range_t(model_.clock() / static_cast<double>(*ratio)));
            return rates;
        });
    }
    _tree->create<double>(dsp / "rate/value")
        .set_coercer([this, s](double r) { return model_.set_rate(s, r); })
        .set_publisher([this, s] { return model_.nominal_rate(s); });
    if (s == side::receive)
        _tree->create<uhd::stream_cmd_t>(dsp / "stream_cmd")
            .add_coerced_subscriber([this](const uhd::stream_cmd_t& c) {
                if (const auto stream = receive_.lock()) stream->issue_stream_cmd(c);
            });
}

std::size_t device::packet_of(const uhd::stream_args_t& args) const {
    const double usual =
        model_.ideal() ? static_cast<double>(default_samples_per_packet) : model_.kind().packet;
    const double asked = number_of(args.args, "spp", usual, 1, 65536);
    return static_cast<std::size_t>(model_.ideal() ? asked : std::min(asked, usual));
}

uhd::rx_streamer::sptr device::get_rx_stream(const uhd::stream_args_t& args) {
    if (receive_.lock()) throw uhd::runtime_error("vusrp: the receiver is streaming already");
    const sample_format format = format_of(args, model_, side::receive);
    auto stream = std::make_shared<receive_stream>(port_, model_, format, packet_of(args));
    receive_ = stream;
    return stream;
}

uhd::tx_streamer::sptr device::get_tx_stream(const uhd::stream_args_t& args) {
    if (transmit_.lock()) throw uhd::runtime_error("vusrp: the transmitter is streaming already");
    const sample_format format = format_of(args, model_, side::transmit);
    auto stream = std::make_shared<transmit_stream>(
        port_, model_, format, packet_of(args), args.args.get("hold", hold_ ? "1" : "0") == "1");
    transmit_ = stream;
    return stream;
}

bool device::recv_async_msg(uhd::async_metadata_t& message, double timeout) {
    const auto stream = transmit_.lock();
    return stream && stream->recv_async_msg(message, timeout);
}

}  // namespace wip::vusrp
