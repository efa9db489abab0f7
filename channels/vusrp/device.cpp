// SPDX-License-Identifier: GPL-3.0-or-later
#include "vusrp/device.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <sstream>
#include <thread>
#include <uhd/exception.hpp>
#include <uhd/property_tree.hpp>
#include <uhd/types/ranges.hpp>
#include <uhd/types/sensors.hpp>
#include <uhd/types/stream_cmd.hpp>
#include <uhd/usrp/dboard_eeprom.hpp>
#include <uhd/usrp/mboard_eeprom.hpp>
#include <uhd/usrp/subdev_spec.hpp>
#include <uhd/utils/algorithm.hpp>
#include <uhd/utils/assert_has.hpp>
#include <uhd/utils/log.hpp>

#include "air/medium_config.h"
#include "sample/snr_range.h"
#include "types/failure.h"
#include "types/not_valid.h"
#include "types/number_text.h"

namespace wip::vusrp {
namespace {

using strings = std::vector<std::string>;

constexpr double native_rate = air::sample_rate;
constexpr double fastest_stream_rate = 25e6;  // samples/s; limit for a stream of the ideal radio
constexpr double queue_timeout_s = 10;  // UHD's timeout for a command that finds the queue full

// Opens a node for each channel, or for the first channels if fewer are named.
std::vector<std::shared_ptr<node_port>> open_ports(const uhd::device_addr_t& args,
                                                   std::size_t channels) {
    try {
        if (args.has_key("air")) {
            const std::string nodes = node_of(args);
            const auto refuse = [&nodes](const std::string& valid) {
                throw bad_input(not_valid("device argument node", nodes, valid));
            };
            std::vector<std::shared_ptr<node_port>> ports;
            std::istringstream names(nodes + ":");
            for (std::string name; std::getline(names, name, ':');) {
                if (ports.size() == channels)
                    refuse("one for each channel of the radio, at most " +
                           std::to_string(channels));
                ports.push_back(node_port::attach(args["air"], name,
                                                  number_of(args, "connect_timeout", 1, 0, 3600)));
                if (ports[0]->clock_parts() != ports.back()->clock_parts())
                    refuse("nodes with the same clock_offset");
            }
            return ports;
        }
        private_air_config c;
        const std::string clock = args.get("clock", "realtime");
        if (clock != "realtime" && clock != "lockstep")
            throw uhd::value_error(
                not_valid("device argument clock", clock, "realtime or lockstep"));
        c.clock = clock == "lockstep" ? air::clock_kind::lockstep : air::clock_kind::realtime;
        c.speed = number_of(args, "speed", 1, 0.001, 100);
        c.noisy = args.has_key("noise_dbfs");
        c.noise_dbfs = number_of(args, "noise_dbfs", 0, sample_model::lowest_noise_dbfs,
                                 sample_model::highest_noise_dbfs);
        c.gain_db = number_of(args, "gain_db", 0, -200, 100);
        c.delay_samples = static_cast<std::int64_t>(
            number_of(args, "delay", 0, 0, static_cast<double>(air::max_delay_samples)));
        return node_port::make_private(c, channels);
    } catch (const std::runtime_error& e) {
        throw uhd::runtime_error(std::string("vusrp: ") + e.what());
    }
}

sample_format format_of(const uhd::stream_args_t& args, const radio_model& model, side s) {
    const auto f = parse_format(args.cpu_format);
    if (!f)
        throw uhd::value_error("vusrp: cpu format is '" + args.cpu_format +
                               "'; valid: fc32, fc64 or sc16");
    if (!args.otw_format.empty() && args.otw_format != "sc16" && args.otw_format != "fc32") {
        if (!model.ideal())
            throw uhd::value_error(std::string("USRP ") + capital_name_of(s) +
                                   " cannot handle requested wire format: " + args.otw_format);
        throw uhd::value_error("vusrp: over-the-wire format is '" + args.otw_format +
                               "'; valid: sc16 (samples are not quantised)");
    }
    if (model.rate(s).hz() > fastest_stream_rate + 1)
        throw uhd::runtime_error(std::string("vusrp: ") + name_of(s) + " rate " +
                                 std::to_string(model.rate(s).hz() / 1e6) +
                                 " MS/s is too fast for the software USRP; valid: up to 25 MS/s");
    return *f;
}

// UHD sets the policy on a B2xx only; an RFNoC radio keeps the initial one of its FPGA.
fpga::error_policy policy_of(const uhd::stream_args_t& args, const radio_model& model) {
    const std::string policy = args.args.get("underflow_policy", "next_packet");
    if (policy != "next_packet" && policy != "next_burst")
        throw uhd::value_error("vusrp: stream argument underflow_policy is " + policy +
                               "; valid: next_packet or next_burst");
    const bool burst = policy == "next_burst" && model.control().name == "b200";
    return burst ? fpga::error_policy::next_burst : fpga::error_policy::next_packet;
}

std::int64_t phase_of(double turns) {
    return std::llround((turns - std::floor(turns)) * air::phase_units);
}

}  // namespace

std::string node_of(const uhd::device_addr_t& args) { return args.get("node", "radio"); }

struct device::side_properties {
    std::string gain_name;
    uhd::meta_range_t gains, frequency, bandwidth, dsp;
    double bandwidth_hz;
    strings antennas;
};

device::side_properties device::properties(side s) const {
    const bool receive = s == side::receive;
    if (model_.ideal())
        return {
            .gain_name = "PGA0",
            .gains = receive ? uhd::meta_range_t(-40, 60, 0.25) : uhd::meta_range_t(-80, 20, 0.25),
            .frequency = {10e6, 6e9},
            .bandwidth = {200e3, 7.68e6},
            .dsp = {-native_rate / 2, native_rate / 2},
            .bandwidth_hz = native_rate,
            .antennas = receive ? strings{"RX2", "TX/RX"} : strings{"TX/RX"}};
    const front_end& f = model_.front(s);
    const double clock = model_.clock();
    return {.gain_name = model_.kind().gain_name,
            .gains = {f.gain.lowest, f.gain.highest, f.gain.step},
            .frequency = {f.lowest_hz, f.highest_hz},
            .bandwidth = {f.bandwidth.lowest, f.bandwidth.highest},
            .dsp = {-clock / 2, clock / 2},
            .bandwidth_hz = f.bandwidth.initial,
            .antennas = f.antennas};
}

device::device(const uhd::device_addr_t& args) : model_(args), inputs_(inputs_of(args)) {
    _type = uhd::device::USRP;
    _tree = uhd::property_tree::make();
    make_channels(args);
    holds_clock_ = number_of(args, "hold", 0, 0, 1) != 0;
    make_motherboard(args);
    make_time(args);
    make_sources(args);
    for (const side s : {side::receive, side::transmit}) {
        for (std::size_t i = 0; i < channels_.size(); ++i) make_side(s, i);
        make_subdevices(s);
    }
}

void device::make_channels(const uhd::device_addr_t& args) {
    const auto ports = open_ports(args, model_.channels());
    for (std::size_t i = 0; i < model_.channels(); ++i) {
        const std::string name = model_.ideal() ? "A:0" : model_.kind().subdevices[i];
        channels_.push_back({.board = name.substr(0, 1),
                             .front = name.substr(2),
                             .port = i < ports.size() ? ports[i] : nullptr});
        if (i > 0 && i < ports.size()) ports[i]->follow(ports[0]);
    }
    port_ = ports[0];
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
}

tick device::command_time() {
    const std::lock_guard lock(mutex_);
    return timed_ ? model_.medium_of_own(
                        to_sample(command_time_, {model_.base().clock}, port_->offset()))
                  : air::as_soon_as_possible;
}

void device::make_subdevices(side s) {
    const uhd::fs_path board = "/mboards/0";
    uhd::usrp::subdev_spec_t all;
    for (const channel& c : channels_) all.push_back({c.board, c.front});
    _tree->create<std::vector<std::size_t>>(board / (std::string(name_of(s)) + "_chan_dsp_mapping"))
        .set_publisher([this, s] { return order_[s == side::transmit]; });
    _tree->create<uhd::usrp::subdev_spec_t>(board / (std::string(name_of(s)) + "_subdev_spec"))
        .set_coercer([this, s](const auto& spec) { return choose_subdevices(s, spec); })
        .set(all);
}

// The texts of errors are those of UHD's validate_subdev_spec.
uhd::usrp::subdev_spec_t device::choose_subdevices(side s, const uhd::usrp::subdev_spec_t& spec) {
    const std::string name = name_of(s);
    if (spec.empty())
        throw uhd::value_error("Empty " + name + " subdevice specification is not supported.\n");
    if (spec.size() > channels_.size())
        throw uhd::value_error("The subdevice specification \"" + spec.to_string() +
                               "\" is too long.\nThe user specified " +
                               std::to_string(spec.size()) + " channels, but there are only " +
                               std::to_string(channels_.size()) + " " + name +
                               " dsps on mboard 0.\n");
    strings all;
    for (const channel& c : channels_) all.push_back(c.board + ":" + c.front);
    std::vector<std::size_t> order;
    for (const auto& pair : spec) {
        const std::string one = pair.db_name + ":" + pair.sd_name;
        uhd::assert_has(all, one, name + " subdevice specification on mboard 0");
        order.push_back(std::size_t(std::find(all.begin(), all.end(), one) - all.begin()));
    }
    for (std::size_t i = 0; i < all.size(); ++i)
        _tree->access<bool>(front_path(s, i) / "enabled").set(uhd::has(order, i));
    order_[s == side::transmit] = order;
    return spec;
}

std::vector<std::size_t> device::chosen(const uhd::stream_args_t& args, side s) {
    const std::vector<std::size_t>& order = order_[s == side::transmit];
    std::vector<std::size_t> positions;
    for (const std::size_t number :
         args.channels.empty() ? std::vector<std::size_t>{0} : args.channels) {
        if (number >= order.size())
            throw uhd::key_error(std::string("Invalid ") + capital_name_of(s) +
                                 " channel: " + std::to_string(number));
        const channel& c = channels_[order[number]];
        const std::string what = "vusrp: channel " + std::to_string(number);
        if (!c.port)
            throw uhd::runtime_error(what +
                                     " has no node of the medium; valid: device argument node=A:B, "
                                     "which names one for each channel");
        if (s == side::receive ? !c.receive.expired() : !c.transmit.expired())
            throw uhd::runtime_error(
                "vusrp: the " + std::string(s == side::receive ? "receiver" : "transmitter") +
                (channels_.size() > 1 ? " of channel " + std::to_string(number) : "") +
                " is streaming already");
        if (uhd::has(positions, order[number]))
            throw uhd::value_error(what + " is in a stream twice; valid: each channel once");
        positions.push_back(order[number]);
        if (model_.nominal_rate(s, positions[0]) != model_.nominal_rate(s, positions.back()))
            throw uhd::value_error(what +
                                   " has another rate than the first channel of its stream; "
                                   "valid: the same rate");
    }
    model_.prepare_clock(s, positions.size(), streaming(s) + positions.size());
    return positions;
}

std::size_t device::streaming(side s) const {
    return std::size_t(std::ranges::count_if(channels_, [s](const channel& c) {
        return s == side::receive ? !c.receive.expired() : !c.transmit.expired();
    }));
}

device::execution device::schedule_command(channel& c) {
    const tick requested = command_time();
    const auto at_once = [](tick when) { return execution{when, when}; };
    if (model_.ideal()) return at_once(requested);
    if (!port_->running())
        return at_once(model_.timed_commands() ? requested : air::as_soon_as_possible);
    const std::lock_guard lock(queue_mutex_);
    const tick arrived = port_->now() + model_.latency() + model_.random_spread();
    // Commands do not overtake each other on their way, even if the random part of the latency is
    // smaller for the later one.
    if (!model_.timed_commands()) {
        const tick begins = std::max(c.last_command, arrived);
        c.last_command = std::max(c.last_command, arrived + model_.random_settling());
        return {begins, c.last_command};
    }
    const auto full = [&] {
        while (!c.queue.empty() && c.queue.front() <= port_->now()) c.queue.pop_front();
        return c.queue.size() >= static_cast<std::size_t>(model_.kind().command_queue);
    };
    if (full()) {
        port_->wait_until(c.queue.front(), queue_timeout_s);
        if (full())
            throw uhd::runtime_error("vusrp: the command queue of this radio is full (" +
                                     std::to_string(c.queue.size()) + " timed commands)");
    }
    // Commands are executed in the order in which they were given.
    const tick begins = std::max({requested, arrived, c.last_command});
    const tick holds = c.last_command = begins + model_.random_settling();
    if (requested > arrived || !c.queue.empty()) c.queue.push_back(holds);
    return {begins, holds};
}

// Draws the phase of an LO, which is another one each time that it locks.
void device::lock_anew(side s, std::size_t i) {
    channels_[i].lo_turns[s == side::transmit] = model_.random_turns();
    tune(s, i);
}

void device::tune(side s, std::size_t i) {
    channel& c = channels_[i];
    if (!c.port) return;
    const bool receive = s == side::receive;
    const int k = receive ? 0 : 1;
    // UHD defines the sign of the digital frequency shift the other way round for the transmitter.
    const double centre = c.front_end_hz[k] + (receive ? -c.dsp_hz[k] : c.dsp_hz[k]);
    c.port->command(
        receive ? air::command_kind::receive_frequency : air::command_kind::transmit_frequency,
        schedule_command(c).holds, model_.carrier(centre), phase_of(c.lo_turns[k]));
    model_.set_carrier(s, i, centre);
}

// A gain settles in steps: before it is complete, each of four steps halves the remaining
// difference.
void device::set_level(side s, std::size_t i, double gain) {
    channel& c = channels_[i];
    if (!c.port) return;
    const int k = s == side::receive ? 0 : 1;
    const auto kind =
        s == side::receive ? air::command_kind::receive_gain : air::command_kind::transmit_gain;
    const actual_gain next = model_.gain_setting(s, i, gain);
    const auto [begins, holds] = schedule_command(c);
    constexpr int halves = 4;
    for (int half = 0; half < halves && model_.has_edge() && holds > begins; ++half) {
        const actual_gain now = between(c.gain[k], next, 1 - std::exp2(-half - 1));
        c.port->command(kind, begins + (holds - begins) * half / halves, now.level.value,
                        phase_of(now.turns));
    }
    c.gain[k] = next;
    c.port->command(kind, holds, next.level.value, phase_of(next.turns));
}

void device::make_side(side s, std::size_t i) {
    const std::string name = name_of(s);
    const uhd::fs_path board = "/mboards/0", daughter = board / "dboards" / channels_[i].board;
    const side_properties p = properties(s);
    if (!_tree->exists(daughter / (name + "_eeprom"))) {
        const uhd::fs_path codec = board / (name + "_codecs") / channels_[i].board;
        _tree->create<int>(codec / "gains");
        _tree->create<std::string>(codec / "name").set("none");
        uhd::usrp::dboard_eeprom_t eeprom;
        _tree->create<uhd::usrp::dboard_eeprom_t>(daughter / (name + "_eeprom")).set(eeprom);
    }
    make_antennas(s, i, p);
    make_tuning(s, i, p);
    make_rate(s, i);
    if (model_.calibrated()) make_power(s, i, p);
}

uhd::fs_path device::front_path(side s, std::size_t i) const {
    return uhd::fs_path("/mboards/0/dboards") / channels_[i].board /
           (std::string(name_of(s)) + "_frontends") / channels_[i].front;
}

uhd::fs_path device::dsp_path(side s, std::size_t i) const {
    return uhd::fs_path("/mboards/0") / (std::string(name_of(s)) + "_dsps") / std::to_string(i);
}

void device::make_antennas(side s, std::size_t i, const side_properties& p) {
    const uhd::fs_path front = front_path(s, i);
    _tree->create<std::string>(front / "name")
        .set(model_.ideal() ? std::string("Software ") + name_of(s) : model_.front_name(s, i));
    _tree->create<std::string>(front / "connection").set("IQ");
    const strings antennas = p.antennas;
    _tree->create<strings>(front / "antenna/options").set(antennas);
    _tree->create<std::string>(front / "antenna/value")
        .set_coercer([this, s, antennas](const std::string& a) {
            if (std::find(antennas.begin(), antennas.end(), a) != antennas.end()) return a;
            if (!model_.ideal()) throw uhd::value_error(model_.antenna_refusal(s, a));
            throw uhd::value_error("vusrp: antenna is '" + a + "'; valid: " + antennas[0] +
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

void device::make_tuning(side s, std::size_t i, const side_properties& p) {
    const uhd::fs_path front = front_path(s, i), dsp = dsp_path(s, i);
    const int k = s == side::receive ? 0 : 1;
    _tree->create<uhd::meta_range_t>(front / "bandwidth/range").set(p.bandwidth);
    _tree->create<double>(front / "bandwidth/value")
        .set_coercer([this, s, i, range = p.bandwidth](double b) {
            return model_.ideal() ? range.clip(b) : model_.set_bandwidth(s, i, b);
        })
        .set(p.bandwidth_hz);
    _tree->create<uhd::meta_range_t>(front / "gains" / p.gain_name / "range").set(p.gains);
    _tree->create<double>(front / "gains" / p.gain_name / "value")
        .set_coercer([this, s, i, k, range = p.gains](double g) {
            channel& c = channels_[i];
            c.requested_gain[k] = range.clip(g, true);
            return model_.gain_at(s, c.front_end_hz[k], db(c.requested_gain[k])).value;
        })
        .set(0)
        .add_coerced_subscriber([this, s, i](double g) { set_level(s, i, g); });
    if (!model_.ideal()) set_level(s, i, 0);

    _tree->create<uhd::meta_range_t>(front / "freq/range").set(p.frequency);
    _tree->create<double>(front / "freq/value")
        .set_coercer([range = p.frequency](double f) { return range.clip(f); })
        .set(air::default_frequency)
        .add_coerced_subscriber(
            [this, s, i, k, gain = front / "gains" / p.gain_name / "value"](double f) {
                channel& c = channels_[i];
                c.front_end_hz[k] = f;
                lock_anew(s, i);
                if (const db now = model_.gain_at(s, f, db(c.requested_gain[k]));
                    now.value != _tree->access<double>(gain).get())
                    _tree->access<double>(gain).set(c.requested_gain[k]);
            });
    _tree->create<uhd::meta_range_t>(dsp / "freq/range").set(p.dsp);
    _tree->create<double>(dsp / "freq/value")
        .set_coercer([range = p.dsp](double f) { return range.clip(f); })
        .set(0)
        .add_coerced_subscriber([this, s, i, k](double f) {
            channels_[i].dsp_hz[k] = f;
            tune(s, i);
        });
}

// Makes the power properties of a radio with calibration data, as uhd_power_cal.py writes them.
// Setting the reference power sets the gain.
void device::make_power(side s, std::size_t i, const side_properties& p) {
    const uhd::fs_path power = front_path(s, i) / "ref_power";
    const uhd::fs_path gain = front_path(s, i) / "gains" / p.gain_name / "value";
    const auto reference = [this, s](double g) { return model_.reference(s, db(g)).value; };
    const double a = reference(p.gains.start()), b = reference(p.gains.stop());
    _tree->create<std::string>(power / "key").set("openwip");
    _tree->create<std::string>(power / "serial").set("");
    _tree->create<uhd::meta_range_t>(power / "range")
        .set(uhd::meta_range_t(std::min(a, b), std::max(a, b), p.gains.step()));
    _tree->create<double>(power / "value")
        .set_coercer([=, this](double wish) {
            _tree->access<double>(gain).set(model_.gain_for(s, dbm(wish)).value);
            return reference(_tree->access<double>(gain).get());
        })
        .set_publisher([=, this] { return reference(_tree->access<double>(gain).get()); });
}

void device::make_rate(side s, std::size_t i) {
    const uhd::fs_path dsp = dsp_path(s, i);
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
        .set_coercer([this, s, i](double r) { return model_.set_rate(s, i, r); })
        .set_publisher([this, s, i] { return model_.nominal_rate(s, i); });
    if (s == side::receive)
        _tree->create<uhd::stream_cmd_t>(dsp / "stream_cmd")
            .add_coerced_subscriber([this, i](const uhd::stream_cmd_t& c) {
                if (const auto stream = channels_[i].receive.lock())
                    stream->issue_to(*channels_[i].port, c);
            });
}

// The samples in a packet. A B2xx accepts any `spp` up to its own limit when it receives, even if a
// USB transfer is smaller (UHD's b200_io_impl.cpp); other radios limit it to the size of a network
// packet.
std::size_t device::packet_of(const uhd::stream_args_t& args, side s) const {
    constexpr double most_of_b200 = 4092;
    const double usual =
        model_.ideal() ? static_cast<double>(default_samples_per_packet) : model_.kind().packet;
    const double requested = number_of(args.args, "spp", usual, 1, 65536);
    if (model_.ideal()) return static_cast<std::size_t>(requested);
    const bool usb = model_.usb_frame() > 0 && s == side::receive;
    return static_cast<std::size_t>(std::min(requested, usb ? most_of_b200 : usual));
}

std::vector<stream_channel> device::lanes(const std::vector<std::size_t>& positions) const {
    std::vector<stream_channel> all;
    for (const std::size_t i : positions) all.push_back({channels_[i].port, model_.of(i)});
    return all;
}

uhd::rx_streamer::sptr device::get_rx_stream(const uhd::stream_args_t& args) {
    const std::vector<std::size_t> positions = chosen(args, side::receive);
    const sample_format format = format_of(args, model_.of(positions[0]), side::receive);
    auto stream =
        std::make_shared<receive_stream>(lanes(positions), format, packet_of(args, side::receive));
    for (const std::size_t i : positions) channels_[i].receive = stream;
    return stream;
}

uhd::tx_streamer::sptr device::get_tx_stream(const uhd::stream_args_t& args) {
    const std::vector<std::size_t> positions = chosen(args, side::transmit);
    const sample_format format = format_of(args, model_.of(positions[0]), side::transmit);
    auto stream = std::make_shared<transmit_stream>(
        lanes(positions), format, packet_of(args, side::transmit), policy_of(args, model_),
        args.args.get("hold", holds_clock_ ? "1" : "0") == "1");
    for (const std::size_t i : positions) channels_[i].transmit = stream;
    return stream;
}

// Returns the event of whichever transmitter has one first.
bool device::recv_async_msg(uhd::async_metadata_t& message, double timeout) {
    using namespace std::chrono;
    const auto deadline = steady_clock::now() + duration<double>(timeout);
    std::vector<std::shared_ptr<transmit_stream>> streams;
    for (const channel& c : channels_)
        if (const auto stream = c.transmit.lock(); stream && !uhd::has(streams, stream))
            streams.push_back(stream);
    if (streams.size() == 1) return streams[0]->recv_async_msg(message, timeout);
    while (!streams.empty()) {
        for (const auto& stream : streams)
            if (stream->recv_async_msg(message, 0)) return true;
        const duration<double> left = deadline - steady_clock::now();
        if (left.count() <= 0) return false;
        std::this_thread::sleep_for(std::min<duration<double>>(left, 1ms));
    }
    return false;
}

}  // namespace wip::vusrp
