// SPDX-License-Identifier: GPL-3.0-or-later
#include "emulator/emulator_config.h"

#include <cmath>
#include <limits>
#include <map>
#include <sstream>

#include "bin/trace_channel.h"
#include "config/endpoint.h"
#include "types/number_text.h"

namespace wip::emulator {
namespace {

using config::key;
using config::kind;

// Defaults of Alfredsson 2012, tables 5.8 and A.1, where they are not those of the radio.
const std::map<std::string, std::string>& own_defaults() {
    static const std::map<std::string, std::string> d{{"link.profile", "wipemu"},
                                                      {"link.packing", "off"},
                                                      {"link.order", "as_completed"},
                                                      {"link.deliver_corrupt", "on"},
                                                      {"name", "emulate"}};
    return d;
}

// "" or one SNR for each bin, in dB: "8, 12, 15".
std::optional<std::vector<float>> parse_bins(std::string_view text) {
    std::vector<float> values;
    std::istringstream in{std::string(text)};
    for (std::string item; std::getline(in, item, ',');) {
        const auto first = item.find_first_not_of(' ');
        if (first == std::string::npos) return std::nullopt;
        const auto v =
            read_number<float>(item.substr(first, item.find_last_not_of(' ') + 1 - first));
        if (!v || *v < -60 || *v > 80) return std::nullopt;
        values.push_back(*v);
    }
    if (values.size() > nof_bins) return std::nullopt;
    return values;
}

std::string check_bins(std::string_view text) {
    return parse_bins(text) ? "" : "up to 25 SNRs of -60..80 dB, separated by commas";
}

std::string check_nmse(std::string_view text) {
    if (text == "trace") return {};
    const auto v = read_number<double>(text);
    if (!v || !(*v >= 0 && *v <= 0.5))
        return "a number 0..0.5, or trace (the predictions that the trace file holds)";
    return {};
}

std::string check_speed(std::string_view text) {
    if (text == "own") return {};
    const auto v = read_number<double>(text);
    return v && *v >= 0 && *v <= 500 ? "" : "a number 0..500 km/h, or own";
}

// Whether there is slow fading, and a standard deviation where one is given.
struct shadowing_words {
    profiles::channel_choice::use use = profiles::channel_choice::use::as_defined;
    std::optional<double> deviation_db{};
};
std::optional<shadowing_words> parse_shadowing(std::string_view text) {
    using use = profiles::channel_choice::use;
    if (text == "as_defined") return shadowing_words{};
    if (text == "on" || text == "true") return shadowing_words{use::on};
    if (text == "off" || text == "false") return shadowing_words{use::off};
    const auto v = read_number<double>(text);
    if (!v || *v < 0 || *v > 20) return std::nullopt;
    return shadowing_words{use::on, v};
}

std::string check_shadowing(std::string_view text) {
    return parse_shadowing(text) ? "" : "as_defined, on, off, or 0..20 dB";
}

std::string check_blackout(std::string_view text) {
    if (text == "on" || text == "off") return {};
    const auto v = read_number<double>(text);
    return v && *v >= 1 && *v <= 600'000 ? "" : "on, off, or 1..600000 ms";
}

std::string check_namespace(std::string_view text) {
    if (text.find('/') != std::string_view::npos || text.size() > 64)
        return "a name of `ip netns`, or empty";
    return {};
}

void add_wired(std::vector<key>& keys, const std::string& group, const std::string& what) {
    keys.push_back({.path = group + ".delay_ms",
                    .type = kind::real,
                    .fallback = "10",
                    .doc = "delay of the wired network " + what,
                    .unit = "ms",
                    .lowest = 0,
                    .highest = 60000});
    keys.push_back({.path = group + ".rate_kbps",
                    .type = kind::real,
                    .fallback = "0",
                    .doc = "rate of the wired network " + what + "; 0 = no limit",
                    .unit = "kbit/s",
                    .lowest = 0,
                    .highest = 1e7});
    keys.push_back({.path = group + ".loss",
                    .type = kind::real,
                    .fallback = "0",
                    .doc = "probability that a packet is lost " + what,
                    .lowest = 0,
                    .highest = 1});
    keys.push_back({.path = group + ".queue_packets",
                    .type = kind::integer,
                    .fallback = "100",
                    .doc = "queue in front of the limited rate " + what + ", drop tail",
                    .unit = "packets",
                    .lowest = 1,
                    .highest = 100000});
}

void add_interface(std::vector<key>& keys, const std::string& group, const std::string& address,
                   const std::string& what, const std::string& status) {
    keys.push_back({.path = group + ".namespace",
                    .doc = "network namespace of " + what + "; empty: that of the process",
                    .check = check_namespace});
    keys.push_back({.path = group + ".tun",
                    .fallback = group == "server" ? "wip0" : "wip1",
                    .doc = "interface that this program makes there",
                    .check = check_interface_name});
    keys.push_back({.path = group + ".address",
                    .fallback = address,
                    .doc = "address of the interface",
                    .check = check_interface_address});
    keys.push_back({.path = group + ".control",
                    .fallback = "ipc://RUN/" + status + ".control",
                    .doc = "control of this end (REP, bound here)",
                    .check = config::check_endpoint});
    keys.push_back({.path = group + ".telemetry",
                    .fallback = "ipc://RUN/" + status + ".telemetry",
                    .doc = "telemetry of this end (XPUB, bound here)",
                    .check = config::check_endpoint});
}

std::vector<key> make_keys() {
    std::vector<key> keys;
    for (key k : host::macd_keys()) {
        const bool ours = k.path.starts_with("link.") || k.path.starts_with("uplink.") ||
                          k.path == "name" || k.path == "user" || k.path == "seed" ||
                          k.path.starts_with("telemetry.");
        if (!ours) continue;
        if (const auto d = own_defaults().find(k.path); d != own_defaults().end())
            k.fallback = d->second;
        if (k.path == "seed") k.doc = "of channel, noise and losses";
        if (k.path == "link.profile") k.doc = "ideal error detection, or the CRC of the radio";
        keys.push_back(k);
    }
    keys.push_back({.path = "channel.model",
                    .fallback = "static",
                    .doc = "a channel definition, or a trace file (.h5)",
                    .runtime = true});
    keys.push_back({.path = "channel.snr_db",
                    .type = kind::real,
                    .fallback = "16",
                    .doc = "mean SNR of a bin; a trace has its own",
                    .unit = "dB",
                    .lowest = -60,
                    .highest = 80,
                    .runtime = true});
    keys.push_back({.path = "channel.bins_db",
                    .doc = "model static: SNR of bin 0, 1, ...; bins not named have snr_db",
                    .unit = "dB",
                    .check = check_bins,
                    .runtime = true});
    keys.push_back({.path = "channel.users_db",
                    .doc = "several terminals: mean SNR of the first, the second, ...; those not "
                           "named have snr_db",
                    .unit = "dB",
                    .check = check_bins,
                    .runtime = true});
    keys.push_back({.path = "channel.speed_kmh",
                    .fallback = "own",
                    .doc = "speed of the terminal; own: the definition's",
                    .unit = "km/h",
                    .check = check_speed,
                    .runtime = true});
    keys.push_back(
        {.path = "channel.shadowing",
         .fallback = "as_defined",
         .doc = "slow fading: as the channel defines it, on, off, or a standard deviation",
         .unit = "dB",
         .check = check_shadowing,
         .runtime = true});
    keys.push_back({.path = "channel.prediction_nmse",
                    .fallback = "0.1",
                    .doc = "NMSE of the predicted SNR, or trace",
                    .check = check_nmse,
                    .runtime = true});
    keys.push_back({.path = "channel.errors",
                    .type = kind::choice,
                    .fallback = "symbols",
                    .doc = "frame errors: noise on every symbol; drawn from the computed error "
                           "probability; none",
                    .choices = {"symbols", "computed", "none"},
                    .runtime = true});
    keys.push_back({.path = "channel.eight_points",
                    .type = kind::choice,
                    .fallback = "star",
                    .doc = "the points of 3 bits per symbol: axes at 1 + sqrt 3, axes at 3, 4 x 2",
                    .choices = {"star", "cross", "rectangle"}});
    keys.push_back({.path = "channel.blackout",
                    .fallback = "off",
                    .doc = "the signal is gone (100 dB less): on, off, or for so many ms",
                    .unit = "ms",
                    .check = check_blackout,
                    .runtime = true});
    add_wired(keys, "to_base", "from the server to the base station");
    add_wired(keys, "from_base", "from the base station to the server");
    add_interface(keys, "server", "10.42.0.1/30", "the server's side", "base");
    add_interface(keys, "terminal", "10.42.0.2/30", "the terminal", "terminal");
    keys.push_back({.path = "terminals",
                    .type = kind::integer,
                    .fallback = "1",
                    .doc =
                        "number of terminals; the nth has the namespace of the first with n behind "
                        "it, and the nth address",
                    .lowest = 1,
                    .highest = 25});
    keys.push_back({.path = "scheduling.method",
                    .type = kind::choice,
                    .fallback = "as_allocation",
                    .doc = "who gets which bin; as_allocation: link.allocation",
                    .choices = {"as_allocation", "static", "best", "round_robin", "max_rate",
                                "proportional_fair"},
                    .runtime = true});
    keys.push_back({.path = "scheduling.averaging_slots",
                    .type = kind::integer,
                    .fallback = "1500",
                    .doc = "memory of proportional_fair",
                    .unit = "slots",
                    .lowest = 1,
                    .highest = 1000000,
                    .runtime = true});
    keys.push_back({.path = "control",
                    .fallback = "ipc://RUN/air.control",
                    .doc = "control of the emulation itself: pacing (REP, bound here)",
                    .check = config::check_endpoint});
    keys.push_back({.path = "pacing_limit_ms",
                    .type = kind::real,
                    .fallback = "2",
                    .doc = "a slot released later than this counts as behind",
                    .unit = "ms",
                    .lowest = 0.01,
                    .highest = 10000});
    return keys;
}

packet_model::wired_config wired_from(const config::settings& s, const std::string& group,
                                      std::uint64_t seed) {
    packet_model::wired_config w;
    w.delay_ms = s.real(group + ".delay_ms");
    w.rate_kbps = s.real(group + ".rate_kbps");
    w.loss = s.real(group + ".loss");
    w.queue_packets = static_cast<int>(s.integer(group + ".queue_packets"));
    w.seed = seed;
    return w;
}

interface_config interface_from(const config::settings& s, const std::string& group) {
    interface_config i;
    i.network_namespace = s.text(group + ".namespace");
    i.tun.name = s.text(group + ".tun");
    i.tun.address = s.text(group + ".address");
    i.control_endpoint = s.text(group + ".control");
    i.telemetry_endpoint = s.text(group + ".telemetry");
    return i;
}

// The nth terminal's interface: 10.42.0.2 -> 10.42.0.(n + 1), namespace "terminal" -> "terminal2".
interface_config nth(interface_config c, int n, const config::settings& s) {
    if (n == 1) return c;
    if (c.network_namespace.empty())
        throw s.refuse("terminals", "several terminals need terminal.namespace");
    c.network_namespace += std::to_string(n);
    const auto dot = c.tun.address.rfind('.'), slash = c.tun.address.rfind('/');
    const int last = dot == std::string::npos ? 255 : std::atoi(c.tun.address.c_str() + dot + 1);
    if (last + n - 1 > 254)
        throw s.refuse("terminal.address", "no IPv4 address with room for the other terminals");
    c.tun.address = c.tun.address.substr(0, dot + 1) + std::to_string(last + n - 1) +
                    c.tun.address.substr(slash);
    return c;
}

}  // namespace

const std::vector<key>& emulator_keys() {
    static const std::vector<key> keys = make_keys();
    return keys;
}

emulator_config translate(config::settings& s) {
    s.finish();
    for (const auto* e : {"server.control", "server.telemetry", "terminal.control",
                          "terminal.telemetry", "control"})
        config::fill_in_run_folder(s, e);
    emulator_config c;
    c.name = s.text("name");
    c.user = s.text("user");
    c.pacing_limit_ms = s.real("pacing_limit_ms");
    c.telemetry = host::telemetry_from(s);
    c.air_control_endpoint = s.text("control");
    c.server = interface_from(s, "server");
    c.cell.cell.users = static_cast<int>(s.integer("terminals"));
    for (int n = 1; n <= c.cell.cell.users; ++n)
        c.terminals.push_back(nth(interface_from(s, "terminal"), n, s));
    if (c.server.network_namespace == c.terminals[0].network_namespace &&
        c.server.tun.name == c.terminals[0].tun.name)
        throw s.refuse("terminal.tun", "the same interface as server.tun, in one namespace");

    auto& cell = c.cell;
    cell.seed = static_cast<std::uint64_t>(s.integer("seed"));
    cell.cell.link = host::link_from(s);
    c.tcp_l = host::tcp_l_from(s);
    const std::string& method = s.text("scheduling.method");
    cell.cell.scheduling =
        *scheduling_of(method == "as_allocation" ? s.text("link.allocation") : method);
    cell.cell.averaging_slots = static_cast<int>(s.integer("scheduling.averaging_slots"));
    cell.uplink = host::uplink_from(s);
    cell.to_base = wired_from(s, "to_base", cell.seed);
    cell.from_base = wired_from(s, "from_base", cell.seed);
    for (const auto& [group, w] :
         {std::pair("to_base.", &cell.to_base), std::pair("from_base.", &cell.from_base)})
        try {
            w->check();
        } catch (const std::invalid_argument& e) {
            throw config::error(group + std::string(e.what()));
        }
    const std::string& errors = s.text("channel.errors");
    cell.errors = errors == "symbols"    ? bin_model::error_method::symbols
                  : errors == "computed" ? bin_model::error_method::computed
                                         : bin_model::error_method::none;

    const std::string& eight = s.text("channel.eight_points");
    cell.cell.link.eight = eight == "star"    ? eight_points::star
                           : eight == "cross" ? eight_points::cross
                                              : eight_points::rectangle;

    c.channel.model = s.text("channel.model");
    c.channel.snr_db = s.real("channel.snr_db");
    c.channel.speed_kmh = read_number<double>(s.text("channel.speed_kmh"));
    const auto shadowing = parse_shadowing(s.text("channel.shadowing")).value();
    c.channel.shadowing = shadowing.use;
    c.channel.shadowing_db = shadowing.deviation_db;
    const std::string& dark = s.text("channel.blackout");
    if (dark == "on")
        c.channel.blackout_ms = std::numeric_limits<double>::infinity();
    else if (dark != "off")
        c.channel.blackout_ms = *read_number<double>(dark);
    c.channel.bins_db = *parse_bins(s.text("channel.bins_db"));
    c.channel.users_db = *parse_bins(s.text("channel.users_db"));
    if (s.text("channel.prediction_nmse") != "trace")
        c.channel.prediction_nmse = read_number<double>(s.text("channel.prediction_nmse"));
    return c;
}

}  // namespace wip::emulator
