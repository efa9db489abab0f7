// SPDX-License-Identifier: GPL-3.0-or-later
#include "vusrp/product.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <sstream>
#include <stdexcept>
#include <utility>

#include "types/not_valid.h"
#include "yaml/place.h"

namespace wip::vusrp {
namespace detail {
extern const char* const devices_text;  // devices.yaml, by CMake
}
namespace {

using yaml::place;
using strings = std::vector<std::string>;

std::string text(const place& p, const char* key) { return p.at(key).text("a text"); }
std::string text_if(const place& p, const char* key) {
    return p.at(key).given() ? text(p, key) : "";
}

strings words(const std::string& text) {
    std::istringstream in(text);
    return {std::istream_iterator<std::string>(in), {}};
}

clock_choice read_clock(const place& p) {
    p.expect_keys(
        {"list", "range", "default", "wrong", "refusal", "shared", "experimental", "automatic"});
    clock_choice c;
    if (const place all = p.at("list"); all.given()) c.list = all.numbers<std::int64_t>();
    if (const place range = p.at("range"); range.given()) {
        const auto limits = range.just<2, std::int64_t>();
        c.lowest = limits[0], c.highest = limits[1];
    }
    c.initial = p.at("default").number<std::int64_t>();
    c.wrong = std::array{
        wrong_clock::refuse, wrong_clock::force, wrong_clock::fall_back,
        wrong_clock::ignore}[p.at("wrong").one_of({"refuse", "force", "default", "ignore"})];
    c.refusal = text_if(p, "refusal");
    c.shared = text_if(p, "shared");
    c.experimental = text_if(p, "experimental");
    c.automatic = p.at("automatic").given() && p.at("automatic").one_of({"false", "true"}) == 1;
    return c;
}

std::optional<analog_shape> read_filter(const place& p) {
    if (!p.given()) return std::nullopt;
    const auto part = [&p](const char* name) {
        const auto values = p.at(name).just<3>();
        return low_pass{values[0], values[1], values[2]};
    };
    return analog_shape{part("butterworth"), part("pole")};
}

tracking_steps read_tracking(const place& p) {
    const auto values = p.just<3>();
    return {values[0], values[1], values[2]};
}

chain_delay read_delay(const place& p) {
    const auto values = p.just<2>();
    return {values[0], values[1]};
}

front_end read_front(const place& p, const std::string& side, const char* bits, const char* dc,
                     std::size_t level) {
    const auto gain = p.at(side + "_gain").just<3>(), band = p.at(side + "_bandwidth").just<3>();
    const place forced = p.at("bandwidth_forced");
    const place other = p.at(side + "_frequency"), low = p.at(side + "_low_gain");
    const auto hz = (other.given() ? other : p.at("frequency")).just<2>();
    const auto limits = forced.given() ? forced.just<2>() : std::array{band[0], band[1]};
    const place edge = p.at("analog");
    const auto error = edge.at("gain_error").just<2>();
    const auto low_gain = low.given() ? low.just<2>() : std::array{0.0, gain[1]};
    return {.gain = {gain[0], gain[1], gain[2]},
            .low_hz = low_gain[0],
            .low_gain = db(low_gain[1]),
            .bandwidth = {band[0], band[1], band[2], limits[0], limits[1]},
            .filter = read_filter(p.at(side + "_filter")),
            .antennas = p.at(side + "_antennas").texts(),
            .lowest_hz = hz[0],
            .highest_hz = hz[1],
            .bits = p.at(bits).number<int>(),
            .dc_dbfs = p.at(dc).number(),
            .image_db = p.at(side + "_image_db").number(),
            .full_scale = dbm(p.at("full_scale_dbm").just<2>()[level]),
            .gain_error = {error[0], error[1]},
            .delay = read_delay(edge.at(side + "_delay"))};
}

product read_product(const std::string& name, const place& p) {
    const place front = p.at("front"), calibrated = p.at("calibrated"), buffers = p.at("buffers");
    buffers.expect_keys({"transmit", "receive", "frames", "socket", "frame"});
    const place edge = p.at("analog"), tracking = edge.at("tracking");
    edge.expect_keys(
        {"gain_error", "tracking", "ramp_us", "transmit_delay", "receive_delay", "wander_ppm"});
    const auto wander = edge.at("wander_ppm").just<3>();
    const place frames = buffers.at("frames"), socket = buffers.at("socket");
    const std::array families{"b200", "rfnoc_duc"};
    product made{.name = name,
                 .board = text(p, "board"),
                 .gain_name = text(p, "gain_name"),
                 .front = front.is_list() ? front.texts() : strings{text(p, "front")},
                 .subdevices = words(text(p, "subdevices")),
                 .packet = p.at("packet").number<int>(),
                 .clock = read_clock(p.at("clock")),
                 .decimation = {},
                 .transmit = read_front(p, "transmit", "dac_bits", "transmit_leakage_dbfs", 0),
                 .receive = read_front(p, "receive", "adc_bits", "receive_dc_dbfs", 1),
                 .antenna_refusal = text(p, "antenna_refusal"),
                 .bandwidth_warning = text_if(p, "bandwidth_warning"),
                 .source_refusal = p.at("source_refusal").texts(),
                 .offered_gpsdo = std::nullopt,
                 .ppm = p.at("ppm").number(),
                 .wander = {wander[0], wander[1], wander[2]},
                 .tracking = std::nullopt,
                 .ramp_us = edge.at("ramp_us").number(),
                 .latency_us = p.at("latency_us").number(),
                 .spread_us = p.at("spread_us").number(),
                 .timed_commands = p.at("command_timing").one_of({"exact", "at_once"}) == 0,
                 .settling_us = p.at("settling_us").number(),
                 .calibrated = calibrated.given() && calibrated.one_of({"false", "true"}) == 1,
                 .command_queue = p.at("command_queue").number<int>(),
                 .control = families[p.at("control").one_of({families[0], families[1]})],
                 .transmit_store = buffers.at("transmit").number<std::int64_t>(),
                 .receive_store = buffers.at("receive").number<std::int64_t>(),
                 .frames = frames.given() ? frames.number<int>() : 0,
                 .socket_bytes = socket.given() ? socket.number() : 0,
                 .frame_bytes = buffers.at("frame").number<int>()};
    if (tracking.given()) made.tracking = read_tracking(tracking);
    if (const place said = p.at("offered_gpsdo"); said.given()) made.offered_gpsdo = said.texts();
    p.at("decimation").each_item([&made](const place& rule) {
        const auto r = rule.just<3, std::int64_t>();
        made.decimation.push_back({r[0], r[1], r[2]});
    });
    return made;
}

}  // namespace

bool clock_choice::valid(double hz) const {
    const auto is_this_clock = [hz](std::int64_t clock_hz) {
        return std::abs(static_cast<double>(clock_hz) - hz) < 1;
    };
    if (std::any_of(list.begin(), list.end(), is_this_clock)) return true;
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
    const auto rate_error = [&](std::int64_t ratio) {
        return std::abs(static_cast<double>(clock_hz) / static_cast<double>(ratio) - rate);
    };
    return *std::min_element(all.begin(), all.end(), [&](std::int64_t a, std::int64_t b) {
        return rate_error(a) < rate_error(b);
    });
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

std::vector<product> read_products(const std::string& yaml, const std::string& file) {
    std::vector<product> made;
    place(yaml, file).at("products").each_entry([&made](const std::string& name, const place& p) {
        made.push_back(read_product(name, p));
    });
    return made;
}

const std::vector<product>& products() {
    static const std::vector<product> all = read_products(detail::devices_text, "devices.yaml");
    return all;
}

const product& find_product(std::string_view name) {
    std::string names;
    for (const product& p : products()) {
        if (p.name == name) return p;
        names += (names.empty() ? "" : ", ") + p.name;
    }
    throw std::invalid_argument(
        not_valid("device argument product", name, names + ", or none (a radio without faults)"));
}

std::string filled_in(std::string text,
                      std::span<const std::pair<std::string, std::string>> values) {
    for (const auto& [key, value] : values)
        for (std::size_t at; (at = text.find("{" + key + "}")) != std::string::npos;)
            text.replace(at, key.size() + 2, value);
    return text;
}

}  // namespace wip::vusrp
