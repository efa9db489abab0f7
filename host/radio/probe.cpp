// SPDX-License-Identifier: GPL-3.0-or-later
#include "radio/probe.h"

#include <chrono>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <uhd/property_tree.hpp>
#include <uhd/utils/paths.hpp>

namespace wip::radio {
namespace {

using nlohmann::json;

constexpr double pps_within_s = 2.5;  // seconds; a station waits as long for the edge

json range(const uhd::meta_range_t& r) {
    return {{"lowest", r.start()}, {"highest", r.stop()}, {"step", r.step()}};
}

// True: there is a file of uhd_cal_* with corrections of this daughterboard's IQ imbalance or DC
// offset; UHD applies it without being asked.
bool corrected(const std::string& kind, const std::string& serial) {
    if (serial.empty()) return false;
    const std::filesystem::path file = uhd::get_cal_data_path();
    std::error_code none;
    return std::filesystem::exists(file / (kind + "_cal_v0.2_" + serial + ".csv"), none);
}

json sensor(const uhd::sensor_value_t& s) {
    json j{{"says", s.to_pp_string()}};
    if (s.type == uhd::sensor_value_t::BOOLEAN) j["ok"] = s.to_bool();
    return j;
}

json side_of(usrp& radio, side s) {
    const bool receive = s == side::receive;
    const auto about = receive ? radio.get_usrp_rx_info(0) : radio.get_usrp_tx_info(0);
    const std::string key = receive ? "rx_serial" : "tx_serial";
    const std::string serial = about.has_key(key) ? about[key] : "";
    json j{
        {"channels", receive ? radio.get_rx_num_channels() : radio.get_tx_num_channels()},
        {"board", radio.get_mboard_name(0)},
        {"front", receive ? radio.get_rx_subdev_name(0) : radio.get_tx_subdev_name(0)},
        {"frequency_hz", range(receive ? radio.get_rx_freq_range(0) : radio.get_tx_freq_range(0))},
        {"gain_db", range(receive ? radio.get_rx_gain_range(0) : radio.get_tx_gain_range(0))},
        {"bandwidth_hz",
         range(receive ? radio.get_rx_bandwidth_range(0) : radio.get_tx_bandwidth_range(0))},
        {"antennas", receive ? radio.get_rx_antennas(0) : radio.get_tx_antennas(0)},
        {"power_calibrated",
         receive ? radio.has_rx_power_reference(0) : radio.has_tx_power_reference(0)},
        {"image_calibrated", corrected(receive ? "rx_iq" : "tx_iq", serial)}};
    const station_rate rate = set_rate(radio, s);
    j["rate_hz"] = rate.rate_hz;
    j["converted"] = rate.converted;
    json sensors = json::object();
    for (const std::string& name :
         receive ? radio.get_rx_sensor_names(0) : radio.get_tx_sensor_names(0))
        sensors[name] =
            sensor(receive ? radio.get_rx_sensor(name, 0) : radio.get_tx_sensor(name, 0));
    j["sensors"] = sensors;
    return j;
}

// Whether the source of time gives an edge of the second.
bool sees_pps(usrp& radio) {
    using timer = std::chrono::steady_clock;
    const auto before = radio.get_time_last_pps();
    const auto until = timer::now() + std::chrono::duration<double>(pps_within_s);
    while (timer::now() < until) {
        if (radio.get_time_last_pps() != before) return true;
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    return false;
}

}  // namespace

json probe(usrp& radio) {
    const auto tree = radio.get_device()->get_tree();
    const bool receives = radio.get_rx_num_channels() > 0;
    const auto about = receives ? radio.get_usrp_rx_info(0) : radio.get_usrp_tx_info(0);
    json j{{"product", radio.get_mboard_name(0)}};
    j["name"] =
        tree->exists("/name") ? tree->access<std::string>("/name").get() : radio.get_mboard_name(0);
    j["serial"] = about.has_key("mboard_serial") ? about["mboard_serial"] : "";
    if (receives) j["receive"] = side_of(radio, side::receive);
    if (radio.get_tx_num_channels() > 0) j["transmit"] = side_of(radio, side::transmit);
    // The clock is read after the rates, since some clocks depend on them.
    j["clock_hz"] = radio.get_master_clock_rate(0);
    j["clocks_hz"] = range(radio.get_master_clock_rate_range(0));
    j["clock_source"] = radio.get_clock_source(0);
    j["clock_sources"] = radio.get_clock_sources(0);
    j["time_source"] = radio.get_time_source(0);
    j["time_sources"] = radio.get_time_sources(0);
    if (const auto source = radio.get_time_source(0); source == "external" || source == "gpsdo") {
        j["pps"] = sees_pps(radio);
        j["pps_within_s"] = pps_within_s;
    }
    json sensors = json::object();
    for (const std::string& name : radio.get_mboard_sensor_names(0))
        sensors[name] = sensor(radio.get_mboard_sensor(name, 0));
    j["sensors"] = sensors;
    return j;
}

}  // namespace wip::radio
