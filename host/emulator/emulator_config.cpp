// SPDX-License-Identifier: GPL-3.0-or-later
#include "emulator/emulator_config.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <sstream>
#include <string>
#include <tuple>

#include "bin/trace_channel.h"
#include "config/endpoint.h"
#include "config/settings_table.h"

namespace wip::emulator {
namespace {

constexpr double wlan_wavelengths_per_m = 2.412e9 / 299792458;

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

void wlan_from(const config::settings& s, emulator_config& c) {
    auto& cell = c.wlan.cell;
    cell.rate_mbps = std::stod(s.text("wlan.rate_mbps"));
    cell.control_mbps = std::stod(s.text("wlan.control_rate_mbps"));
    cell.short_preamble = s.flag("wlan.short_preamble");
    if (cell.short_preamble && cell.control_mbps == 1)
        throw s.refuse(
            "wlan.short_preamble",
            "valid: off, or on with wlan.control_rate_mbps = 2, 5.5 or 11: no frame at 1 Mbit/s "
            "has a short preamble");
    cell.rts_threshold = static_cast<int>(s.integer("wlan.rts_threshold"));
    cell.retry_limit = static_cast<int>(s.integer("wlan.retry_limit"));
    cell.dynamic_limit = s.text("wlan.retry_policy") == "dynamic";
    cell.patience_ms = s.real("wlan.patience_ms");
    cell.late_growth = s.text("wlan.window_growth") == "late";
    cell.put_back = s.flag("wlan.put_back");
    cell.hops = static_cast<int>(s.integer("wlan.hops"));
    cell.queue_packets = static_cast<int>(s.integer("wlan.queue_packets"));
    cell.stations = c.cell.cell.users;
    cell.seed = c.cell.seed;
    auto& errors = c.wlan.errors;
    using model = packet_model::attempt_config::model;
    const std::string& kind = s.text("wlan.errors");
    errors.kind = kind == "burst"             ? model::burst
                  : kind == "gilbert_elliott" ? model::gilbert_elliott
                  : kind == "fading"          ? model::fading
                                              : model::none;
    const std::string& way = s.text("wlan.errors_of");
    c.wlan.errors_up = way != "down";
    c.wlan.errors_down = way != "up";
    c.wlan.errors_station = static_cast<int>(s.integer("wlan.errors_station"));
    if (c.wlan.errors_station > cell.stations)
        throw s.refuse("wlan.errors_station",
                       "valid: 0 (all), or one of the terminals=" + std::to_string(cell.stations));
    errors.from_s = s.real("wlan.errors_from_s");
    errors.for_s = s.real("wlan.errors_for_s");
    errors.burst = static_cast<int>(s.integer("wlan.burst"));
    errors.good_ms = s.real("wlan.good_ms");
    errors.bad_ms = s.real("wlan.bad_ms");
    errors.snr_db = c.channel.snr_db;
    errors.needed_db = packet_model::needed_db_of(cell.rate_mbps);
    errors.doppler_hz = c.channel.speed_kmh.value_or(3) / 3.6 * wlan_wavelengths_per_m;
    errors.seed = c.cell.seed;
    c.wlan.to_base = c.cell.to_base;
    c.wlan.from_base = c.cell.from_base;
}

void delay_injection_from(const config::settings& s, emulator_config& c) {
    delay_injection_config d;
    using mode = delay_injection_config::mode;
    const std::string& kind = s.text("delay_injection.mode");
    d.kind = kind == "adaptive" ? mode::adaptive : kind == "static" ? mode::fixed : mode::off;
    d.static_ms = s.real("delay_injection.static_ms");
    d.factor = s.real("delay_injection.factor");
    using reading = delay_injection_config::reading;
    const std::string& read_as = s.text("delay_injection.reading");
    d.read_as = read_as == "listing"  ? reading::listing
                : read_as == "figure" ? reading::figure
                                      : reading::rules;
    // Acknowledgements of uplink flows go down.
    const std::string& flows = s.text("delay_injection.flows");
    c.delay_down = c.delay_up = d;
    if (flows == "downlink") c.delay_down.kind = mode::off;
    if (flows == "uplink") c.delay_up.kind = mode::off;
}

std::int64_t nanoseconds(double ms) { return std::llround(ms * 1e6); }

// FROM,LENGTH,FROM,LENGTH,... in seconds.
std::vector<umts::episode> episodes_from(const config::settings& s, const std::string& key) {
    const std::vector<double> given = s.numbers(key);
    if (given.size() % 2 != 0)
        throw s.refuse(key, "valid: pairs, from when and how long, in seconds");
    std::vector<umts::episode> all;
    for (std::size_t i = 0; i < given.size(); i += 2)
        all.push_back({nanoseconds(given[i] * 1e3), nanoseconds(given[i + 1] * 1e3)});
    return all;
}

constexpr std::int64_t least_pdu_octets = 8;

// Without acknowledgements nothing is there that these could be about.
void refuse_acknowledged(const config::settings& s, umts::rlc_mode mode) {
    const config::settings defaults(emulator_keys());
    const auto of_am = [](const std::string& key) {
        return key.starts_with("umts.poll_") || key.starts_with("umts.status_") ||
               key == "umts.max_dat" || key == "umts.window" || key == "umts.receiver_window" ||
               key == "umts.order";
    };
    for (const auto& key : s.changed_from(defaults))
        if (of_am(key) || (key == "umts.discard" && s.text(key) != "timer"))
            throw s.refuse(key, "umts.mode is " + s.text("umts.mode") +
                                    ", which acknowledges nothing; valid: " +
                                    (key == "umts.discard" ? "timer, or nothing given"
                                                           : "its default " + defaults.text(key)) +
                                    ", or umts.mode am");
    if (mode != umts::rlc_mode::transparent) return;
    // Each has all of an interval, or it is a torso.
    if (s.real("umts.cell_kbps") != 0)
        throw s.refuse("umts.cell_kbps",
                       "umts.mode is tm, whose packets have intervals to themselves; valid: 0");
}

// The errors of one direction; `keys` is the beginning of its keys.
umts::block_error_config errors_from(const config::settings& s, const std::string& keys,
                                     const std::string& model, double burst) {
    using errors = umts::error_model;
    umts::block_error_config c;
    c.model = model == "markov2"   ? errors::markov2
              : model == "markov3" ? errors::markov3
              : model == "burst"   ? errors::burst
                                   : errors::uniform;
    c.rate = s.real(keys + "errors");
    c.burst = burst;
    for (const double n : s.numbers(keys + "error_trace")) c.runs.push_back(static_cast<int>(n));
    if (!c.runs.empty() && c.rate != 0)
        throw s.refuse(keys + "errors", keys + "error_trace says which blocks are lost; valid: 0");
    if (!c.runs.empty() && std::ranges::all_of(c.runs, [](int n) { return n == 0; }))
        throw s.refuse(keys + "error_trace", "valid: one run of more than 0 blocks at least");
    return c;
}

void triggers_from(const config::settings& s, umts::am_config& c) {
    c.poll_last = s.flag("umts.poll_last");
    c.poll_last_retransmitted = s.flag("umts.poll_retransmitted");
    c.poll_pdus = static_cast<int>(s.integer("umts.poll_pdus"));
    c.poll_sdus = static_cast<int>(s.integer("umts.poll_sdus"));
    c.poll_window_percent = static_cast<int>(s.integer("umts.poll_window_percent"));
    c.poll_period_ns = nanoseconds(s.real("umts.poll_period_ms"));
    c.poll_timer_ns = nanoseconds(s.real("umts.poll_timer_ms"));
    c.poll_prohibit_ns = nanoseconds(s.real("umts.poll_prohibit_ms"));
    c.status_missing = s.flag("umts.status_missing");
    c.status_period_ns = nanoseconds(s.real("umts.status_period_ms"));
    c.status_prohibit_ns = nanoseconds(s.real("umts.status_prohibit_ms"));
    const std::string& format = s.text("umts.status_format");
    c.format = format == "bitmap"  ? umts::missing_format::bitmap
               : format == "rlist" ? umts::missing_format::rlist
                                   : umts::missing_format::list;
}

umts::rrc_config rrc_from(const config::settings& s) {
    umts::rrc_config c;
    c.always_dch = s.text("umts.rrc") == "dch";
    c.set_up_ns = nanoseconds(s.real("umts.rrc_set_up_ms"));
    c.page_ns = nanoseconds(s.real("umts.rrc_page_ms"));
    c.switch_ns = nanoseconds(s.real("umts.rrc_switch_ms"));
    c.dch_inactive_ns = nanoseconds(s.real("umts.rrc_dch_s") * 1e3);
    c.fach_inactive_ns = nanoseconds(s.real("umts.rrc_fach_s") * 1e3);
    c.pch_inactive_ns = nanoseconds(s.real("umts.rrc_pch_s") * 1e3);
    c.threshold_bytes = static_cast<int>(s.integer("umts.rrc_threshold_bytes"));
    c.fach_kbps = s.real("umts.rrc_fach_kbps");
    if (!c.always_dch) return c;
    for (const auto& key : s.changed_from(config::settings(emulator_keys())))
        if (key.starts_with("umts.rrc_"))
            throw s.refuse(key,
                           "umts.rrc is dch, which has no other state; valid: its default, "
                           "or umts.rrc states");
    return c;
}

umts::bearer_config bearer_from(const config::settings& s) {
    umts::bearer_config b;
    b.profile = *umts::find_bearer_profile(s.text("umts.profile"));
    for (const auto& [key, kbps] : {std::pair("umts.down_kbps", &b.profile.kbps_down),
                                    {"umts.up_kbps", &b.profile.kbps_up}}) {
        const double given = s.real(key);
        if (given != 0 && given < 1) throw s.refuse(key, "valid: 0, or 1..20000 kbit/s");
        if (given != 0) *kbps = given;
    }
    if (const double given = s.real("umts.one_way_ms"); given != 0) b.profile.one_way_ms = given;
    if (const auto given = s.number("umts.radio_ms")) {
        const double most = b.profile.one_way_ms - 1.5 * b.profile.tti_ms;
        if (*given > most && most >= 0)
            throw s.refuse("umts.radio_ms", "valid: 0.." + std::to_string(most) +
                                                " ms (umts.one_way_ms less 1.5 TTI)");
        b.profile.radio_ms = *given;
    }
    if (const std::int64_t given = s.integer("umts.pdu_octets"); given != 0) {
        if (given < least_pdu_octets) throw s.refuse("umts.pdu_octets", "valid: 0, or 8..2000");
        b.profile.block_down = static_cast<int>(given);
    }
    const std::string& mode_name = s.text("umts.mode");
    b.mode = mode_name == "um"   ? umts::rlc_mode::unacknowledged
             : mode_name == "tm" ? umts::rlc_mode::transparent
                                 : umts::rlc_mode::acknowledged;
    if (b.mode != umts::rlc_mode::acknowledged) refuse_acknowledged(s, b.mode);
    b.pdus_alone = s.text("umts.error_unit") == "pdu";
    b.errors_down = errors_from(s, "umts.", s.text("umts.error_model"), s.real("umts.error_burst"));
    const std::string& up_model = s.text("umts.up_error_model");
    const double up_burst = s.real("umts.up_error_burst");
    if (up_burst != 0 && up_burst < 1)
        throw s.refuse("umts.up_error_burst", "valid: 0, or 1..1000 blocks");
    b.errors_up =
        errors_from(s, "umts.up_", up_model == "as_down" ? s.text("umts.error_model") : up_model,
                    up_burst == 0 ? s.real("umts.error_burst") : up_burst);
    const std::string& discard = s.text("umts.discard");
    using mode = umts::discard_mode;
    b.rlc.discard = discard == "never"   ? mode::never
                    : discard == "reset" ? mode::reset
                    : discard == "timer" ? mode::timer
                                         : mode::after_max_dat;
    b.rlc.max_dat = static_cast<int>(s.integer("umts.max_dat"));
    b.rlc.poll_counted = s.flag("umts.poll_counted");
    b.rlc.discard_ns = nanoseconds(s.real("umts.discard_ms"));
    triggers_from(s, b.rlc);
    b.rlc.window = static_cast<int>(s.integer("umts.window"));
    b.rlc.in_sequence = s.text("umts.order") == "in_order";
    b.rlc.queue_sdus = static_cast<int>(s.integer("link.queue_packets"));
    b.granted_window = static_cast<int>(s.integer("umts.receiver_window"));
    b.control = rrc_from(s);
    b.spikes = episodes_from(s, "umts.spikes");
    b.outages = episodes_from(s, "umts.outages");
    b.seed = static_cast<std::uint64_t>(s.integer("seed"));
    for (const auto& [key, e] :
         {std::pair("umts.errors", &b.errors_down), {"umts.up_errors", &b.errors_up}})
        try {
            e->check();
        } catch (const std::invalid_argument& why) {
            throw s.refuse(key, why.what());
        }
    try {
        b.check();
    } catch (const std::invalid_argument& e) {
        throw s.refuse("umts." + std::string(e.what()));
    }
    return b;
}

umts::cell_config umts_cell_from(const config::settings& s) {
    umts::cell_config c;
    c.users = static_cast<int>(s.integer("terminals"));
    c.kbps = s.real("umts.cell_kbps");
    const std::string& method = s.text("umts.sharing");
    using umts::sharing;
    c.method = method == "max_ci"           ? sharing::max_ci
               : method == "equal_resource" ? sharing::equal_resource
                                            : sharing::equal_throughput;
    c.users_db = s.numbers("umts.users_db");
    std::istringstream names(s.text("umts.classes"));
    for (std::string name; std::getline(names, name, ',');) {
        const auto at = std::ranges::find(umts::class_names, name);
        if (at == umts::class_names.end())
            throw s.refuse("umts.classes",
                           "valid, separated by commas: conversational, streaming, interactive, "
                           "background");
        c.classes.push_back(static_cast<umts::traffic_class>(at - umts::class_names.begin()));
    }
    return c;
}

}  // namespace

const std::vector<config::key>& emulator_keys() {
    static const auto keys = config::settings_table::built_in().keys(
        "emulator",
        {{"interface_name", check_interface_name}, {"interface_address", check_interface_address}});
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
    const std::string& kind = s.text("link.kind");
    c.kind = kind == "umts"   ? link_kind::umts
             : kind == "wlan" ? link_kind::wlan
             : kind == "wire" ? link_kind::wire
                              : link_kind::ofdm;
    c.bearer = bearer_from(s);
    c.umts_cell = umts_cell_from(s);
    c.spike_ms = s.real("umts.spike_ms");
    c.outage_ms = s.real("umts.outage_ms");
    for (int n = 1; n <= c.cell.cell.users; ++n)
        c.terminals.push_back(nth(interface_from(s, "terminal"), n, s));
    if (c.server.network_namespace == c.terminals[0].network_namespace &&
        c.server.tun.name == c.terminals[0].tun.name)
        throw s.refuse("terminal.tun", "the same interface as server.tun, in one namespace");

    auto& cell = c.cell;
    cell.seed = static_cast<std::uint64_t>(s.integer("seed"));
    cell.cell.link = host::link_from(s);
    c.tcp_l = host::tcp_l_from(s);
    c.controller = s.flag("split_tcp.controller");
    const std::string& method = s.text("scheduling.method");
    cell.cell.scheduling =
        *scheduling_of(method == "as_allocation" ? s.text("link.allocation") : method);
    c.rules = host::link_rules_from(s);
    for (const char* key : {"link.scheduler", "link.adaptation"})
        if (c.kind != link_kind::ofdm && s.text(key) != no_extension)
            throw s.refuse(key, "a link of kind " + kind + " has no rule of your own; valid: " +
                                    std::string(no_extension) + ", or link.kind = ofdm");
    if (c.rules.scheduler != no_extension && method != "as_allocation")
        throw s.refuse("scheduling.method",
                       "link.scheduler = " + c.rules.scheduler +
                           " shares out the bins; valid: as_allocation, its default");
    cell.cell.averaging_slots = static_cast<int>(s.integer("scheduling.averaging_slots"));
    cell.uplink = host::uplink_from(s);
    std::tie(cell.to_base, cell.from_base) = host::wired_from(s);
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
    c.channel.speed_kmh = s.number("channel.speed_kmh");
    using use = profiles::channel_choice::use;
    const std::string& shadowing = s.text("channel.shadowing");
    c.channel.shadowing_db = s.number("channel.shadowing");
    c.channel.shadowing = shadowing == "as_defined" ? use::as_defined
                          : shadowing == "off"      ? use::off
                                                    : use::on;
    const std::string& dark = s.text("channel.blackout");
    c.channel.blackout_ms =
        dark == "off"
            ? 0
            : s.number("channel.blackout").value_or(std::numeric_limits<double>::infinity());
    const auto as_floats = [](const std::vector<double>& v) {
        return std::vector<float>(v.begin(), v.end());
    };
    c.channel.bins_db = as_floats(s.numbers("channel.bins_db"));
    c.channel.users_db = as_floats(s.numbers("channel.users_db"));
    c.channel.prediction_nmse = s.number("channel.prediction_nmse");
    wlan_from(s, c);
    delay_injection_from(s, c);
    return c;
}

}  // namespace wip::emulator
