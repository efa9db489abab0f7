// SPDX-License-Identifier: GPL-3.0-or-later
// A radio's clock: its reference, the edge of the second (PPS), its time. Device arguments name the
// inputs that are connected (docs/explanation/software-usrp.md); by default none is.
#include <algorithm>
#include <cmath>
#include <uhd/exception.hpp>
#include <uhd/property_tree.hpp>
#include <uhd/types/sensors.hpp>

#include "vusrp/device.h"

namespace wip::vusrp {
namespace {

using strings = std::vector<std::string>;

constexpr tick second = static_cast<tick>(air::sample_rate);
// The GPS time at the start of a medium, as Unix time: 1 January 2026. The computer's time is not
// used, since two radios would then differ.
constexpr tick gps_start = 1'767'225'600;

}  // namespace

clock_inputs inputs_of(const uhd::device_addr_t& args) {
    const auto is = [&args](const char* name, double default_value) {
        return number_of(args, name, default_value, 0, 1) != 0;
    };
    return {is("reference", 0), is("pps", 0), is("gpsdo", 0), is("lo", 1)};
}

void device::make_sources(const uhd::device_addr_t& args) {
    const uhd::fs_path board = "/mboards/0";
    strings known{"internal", "external"};
    bool refused = false;  // the source exists on this radio but cannot be used
    if (inputs_.gpsdo || (!model_.ideal() && model_.kind().offered_gpsdo)) {
        known.push_back("gpsdo");
        refused = !inputs_.gpsdo && !model_.kind().offered_gpsdo->empty();
    }
    const auto make = [&](const std::string& source, void (device::*choose)(const std::string&)) {
        _tree->create<strings>(board / source / "options").set(known);
        _tree->create<std::string>(board / source / "value")
            .set_coercer([this, source, known, choose, refused](const std::string& value) {
                if (std::find(known.begin(), known.end(), value) == known.end() ||
                    (refused && value == "gpsdo"))
                    throw uhd::key_error(model_.source_refusal(source == "time_source", value,
                                                               "internal, external"));
                (this->*choose)(value);
                return value;
            })
            .set(args.get(source, "internal"));
    };
    make("clock_source", &device::choose_clock);
    make("time_source", &device::choose_time);
    const auto sensor = [&](const std::string& name, auto value) {
        _tree->create<uhd::sensor_value_t>(board / "sensors" / name).set_publisher(value);
    };
    sensor("ref_locked", [this] {
        return uhd::sensor_value_t("Ref", clock_source_ == "internal" || follows_reference_,
                                   "locked", "unlocked");
    });
    sensor("air_connected", [port = port_] {
        return uhd::sensor_value_t("Air", port->connected(), "connected", "gone");
    });
    if (!inputs_.gpsdo) return;
    sensor("gps_locked",
           [] { return uhd::sensor_value_t("GPS lock status", true, "locked", "unlocked"); });
    sensor("gps_time", [port = port_] {
        return uhd::sensor_value_t("GPS epoch time",
                                   static_cast<int>(gps_start + port->now() / second), "seconds");
    });
}

// The device time continues from its value at the rate of the new clock, and all frequencies are
// tuned again with it.
void device::choose_clock(const std::string& source) {
    if (source == clock_source_) return;
    if (streaming(side::receive) + streaming(side::transmit) > 0)
        throw uhd::runtime_error("vusrp: the clock source cannot change while the radio streams");
    const tick now = port_->now(), before = model_.own_of_medium(now);
    clock_source_ = source;
    follows_reference_ =
        source == "gpsdo" ? inputs_.gpsdo : source == "external" && inputs_.reference;
    model_.follow_reference(follows_reference_);
    port_->set_offset(port_->offset() + before - model_.own_of_medium(now));
    for (std::size_t i = 0; i < channels_.size(); ++i)
        for (const side s : {side::receive, side::transmit}) lock_anew(s, i);
}

void device::choose_time(const std::string& source) {
    const bool no_edges =
        (source == "external" && !inputs_.pps) || (source == "gpsdo" && !inputs_.gpsdo);
    stopped_edge_ = no_edges ? last_edge() : -1;
}

tick device::last_edge() const {
    return stopped_edge_ >= 0 ? stopped_edge_ : port_->now() / second * second;
}

// Device time is the radio's own clock: ticks of the medium's rate as that clock counts them.
void device::make_time(const uhd::device_addr_t& args) {
    port_->set_offset(std::llround(number_of(args, "time", 0, 0, 1e9) * air::sample_rate));
    const uhd::fs_path time = "/mboards/0/time";
    const exact_rate base{model_.base().clock};
    const auto now = [this] { return model_.own_of_medium(port_->now()); };
    _tree->create<uhd::time_spec_t>(time / "now")
        .set_publisher([this, base, now] {  // reading the time is a command, which may be timed
            const tick when = command_time();
            const bool in_future = when > port_->now();
            if (in_future) port_->wait_until(when, 2.0);
            return to_time(in_future && port_->now() >= when ? model_.own_of_medium(when) : now(),
                           base, port_->offset());
        })
        .add_coerced_subscriber([this, now](const uhd::time_spec_t& t) {
            port_->set_offset(t.to_ticks(air::sample_rate) - now());
        });
    _tree->create<uhd::time_spec_t>(time / "pps")
        .set_publisher(
            [this, base] {  // time of the last PPS edge; edges are at whole seconds of the medium
                return to_time(model_.own_of_medium(last_edge()), base, port_->offset());
            })
        .add_coerced_subscriber([this](const uhd::time_spec_t& t) {
            if (stopped_edge_ >= 0) return;  // the time is set at an edge that never comes
            const tick edge = port_->running() ? (port_->now() / second + 1) * second : 0;
            port_->set_offset_at(edge, t.to_ticks(air::sample_rate) - model_.own_of_medium(edge));
        });
    _tree->create<uhd::time_spec_t>(time / "cmd")
        .set(uhd::time_spec_t(0.0))
        .add_coerced_subscriber([this](const uhd::time_spec_t& t) {
            const std::lock_guard lock(mutex_);
            timed_ = t != uhd::time_spec_t(0.0);  // in UHD a time of 0.0 means "no command time"
            command_time_ = t;
        });
}

}  // namespace wip::vusrp
