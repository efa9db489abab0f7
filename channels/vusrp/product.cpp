// SPDX-License-Identifier: GPL-3.0-or-later
#include "vusrp/product.h"

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <sstream>
#include <stdexcept>
#include <utility>

namespace wip::vusrp {
namespace detail {
extern const char* const devices_text;  // devices.yaml, by CMake
}
namespace {

using strings = std::vector<std::string>;

// yaml-cpp leaves merge keys (<<) alone: what is not here is looked for there.
YAML::Node field_if(const YAML::Node& n, const std::string& key) {
    if (const YAML::Node own = n[key]) return own;
    const YAML::Node merged = n["<<"];
    return merged ? field_if(merged, key) : YAML::Node(YAML::NodeType::Undefined);
}
YAML::Node field(const YAML::Node& n, const std::string& key) {
    if (const YAML::Node found = field_if(n, key)) return found;
    throw std::logic_error("devices.yaml: no " + key);
}

strings words(const std::string& text) {
    std::istringstream in(text);
    return {std::istream_iterator<std::string>(in), {}};
}

// One, or a list.
strings texts(const YAML::Node& n) {
    return n.IsSequence() ? n.as<strings>() : strings{n.as<std::string>()};
}

double number(const YAML::Node& n, const std::string& key) { return field(n, key).as<double>(); }

clock_choice read_clock(const YAML::Node& n) {
    clock_choice c;
    if (n["list"]) c.list = n["list"].as<std::vector<std::int64_t>>();
    if (n["range"]) {
        c.lowest = n["range"][0].as<std::int64_t>();
        c.highest = n["range"][1].as<std::int64_t>();
    }
    c.initial = n["default"].as<std::int64_t>();
    const std::string wrong = n["wrong"].as<std::string>();
    c.wrong = wrong == "refuse"    ? wrong_clock::refuse
              : wrong == "force"   ? wrong_clock::force
              : wrong == "default" ? wrong_clock::fall_back
                                   : wrong_clock::ignore;
    if (n["refusal"]) c.refusal = n["refusal"].as<std::string>();
    if (n["shared"]) c.shared = n["shared"].as<std::string>();
    if (n["experimental"]) c.experimental = n["experimental"].as<std::string>();
    c.automatic = n["automatic"] && n["automatic"].as<bool>();
    return c;
}

std::optional<analog_shape> read_filter(const YAML::Node& n) {
    if (!n) return std::nullopt;
    const auto part = [&](const char* name) {
        const auto v = n[name].as<std::vector<double>>();
        return low_pass{v[0], v[1], v[2]};
    };
    return analog_shape{part("butterworth"), part("pole")};
}

front_end read_front(const YAML::Node& n, const std::string& side, const std::string& bits,
                     const std::string& dc, int level) {
    const auto three = [&](const std::string& key) {
        return field(n, side + key).as<std::vector<double>>();
    };
    const auto gain = three("_gain"), band = three("_bandwidth");
    const YAML::Node forced = field_if(n, "bandwidth_forced"),
                     other = field_if(n, side + "_frequency"),
                     hz = other ? other : field(n, "frequency");
    const auto limit = [&](int i) {
        return forced ? forced[i].as<double>() : band[std::size_t(i)];
    };
    return {.gain = {gain[0], gain[1], gain[2]},
            .bandwidth = {band[0], band[1], band[2], limit(0), limit(1)},
            .filter = read_filter(field_if(n, side + "_filter")),
            .antennas = field(n, side + "_antennas").as<strings>(),
            .lowest_hz = hz[0].as<double>(),
            .highest_hz = hz[1].as<double>(),
            .bits = field(n, bits).as<int>(),
            .dc_dbfs = number(n, dc),
            .image_db = number(n, side + "_image_db"),
            .full_scale_dbm = field(n, "full_scale_dbm")[level].as<double>()};
}

product read_product(const std::string& name, const YAML::Node& n) {
    product p{.name = name,
              .board = field(n, "board").as<std::string>(),
              .gain_name = field(n, "gain_name").as<std::string>(),
              .front = texts(field(n, "front")),
              .subdevices = words(field(n, "subdevices").as<std::string>()),
              .packet = field(n, "packet").as<int>(),
              .clock = read_clock(field(n, "clock")),
              .decimation = {},
              .transmit = read_front(n, "transmit", "dac_bits", "transmit_leakage_dbfs", 0),
              .receive = read_front(n, "receive", "adc_bits", "receive_dc_dbfs", 1),
              .antenna_refusal = field(n, "antenna_refusal").as<std::string>(),
              .bandwidth_warning = field_if(n, "bandwidth_warning")
                                       ? field(n, "bandwidth_warning").as<std::string>()
                                       : "",
              .source_refusal = field(n, "source_refusal").as<strings>(),
              .offered_gpsdo = std::nullopt,
              .ppm = number(n, "ppm"),
              .latency_us = number(n, "latency_us"),
              .spread_us = number(n, "spread_us"),
              .timed_commands = field(n, "command_timing").as<std::string>() == "exact",
              .settling_us = number(n, "settling_us"),
              .calibrated = n["calibrated"] && n["calibrated"].as<bool>(),
              .command_queue = field(n, "command_queue").as<int>()};
    if (const YAML::Node words = field_if(n, "offered_gpsdo"))
        p.offered_gpsdo = words.as<strings>();
    for (const YAML::Node& rule : field(n, "decimation"))
        p.decimation.push_back(
            {rule[0].as<std::int64_t>(), rule[1].as<std::int64_t>(), rule[2].as<std::int64_t>()});
    return p;
}

}  // namespace

bool clock_choice::valid(double hz) const {
    const auto is = [hz](std::int64_t one) { return std::abs(static_cast<double>(one) - hz) < 1; };
    if (std::any_of(list.begin(), list.end(), is)) return true;
    return highest > 0 && hz >= static_cast<double>(lowest) - 1 &&
           hz <= static_cast<double>(highest) + 1;
}

std::vector<std::int64_t> product::ratios() const {
    std::vector<std::int64_t> all;
    for (const decimation_rule& r : decimation)
        for (std::int64_t ratio = r.first; ratio <= r.last; ratio += r.step) all.push_back(ratio);
    return all;
}

std::int64_t product::nearest_ratio(std::int64_t clock_hz, double rate) const {
    const auto all = ratios();
    const auto miss = [&](std::int64_t ratio) {
        return std::abs(static_cast<double>(clock_hz) / static_cast<double>(ratio) - rate);
    };
    return *std::min_element(all.begin(), all.end(),
                             [&](std::int64_t a, std::int64_t b) { return miss(a) < miss(b); });
}

double product::highest_clock(std::size_t channels) const {
    return static_cast<double>(clock.highest) /
           static_cast<double>(clock.shared.empty() ? 1 : std::max<std::size_t>(channels, 1));
}

std::int64_t product::automatic_clock(double rate, std::size_t channels) const {
    const double highest = highest_clock(channels);
    if (!(rate > 0) || rate > highest) return std::llround(highest);
    double factor = std::exp2(std::floor(std::log2(highest / rate)));
    if (factor == 2 && rate >= static_cast<double>(clock.lowest)) factor = 1;
    return std::llround(rate * factor);
}

const std::vector<product>& products() {
    static const std::vector<product> all = [] {
        std::vector<product> made;
        for (const auto& entry : YAML::Load(detail::devices_text)["products"])
            made.push_back(read_product(entry.first.as<std::string>(), entry.second));
        return made;
    }();
    return all;
}

const product& find_product(const std::string& name) {
    std::string names;
    for (const product& p : products()) {
        if (p.name == name) return p;
        names += (names.empty() ? "" : ", ") + p.name;
    }
    throw std::invalid_argument("device argument product=" + name + ": valid is " + names +
                                ", or none (a radio without faults)");
}

std::string filled_in(std::string text,
                      std::span<const std::pair<std::string, std::string>> values) {
    for (const auto& [key, value] : values)
        for (std::size_t at; (at = text.find("{" + key + "}")) != std::string::npos;)
            text.replace(at, key.size() + 2, value);
    return text;
}

}  // namespace wip::vusrp
