// SPDX-License-Identifier: GPL-3.0-or-later
#include "emulator/emulator_config.h"

#include <arpa/inet.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <tuple>

#include "bin/trace_channel.h"
#include "config/endpoint.h"
#include "config/settings_table.h"
#include "settings/configuration.h"
#include "types/require.h"

namespace wip::emulator {
namespace {

namespace name = config::name;

constexpr double wlan_wavelengths_per_m = 2.412e9 / 299792458;

template <class End>
interface_config interface_from(const End& v, int mtu) {
    interface_config i;
    i.tun.mtu = mtu;
    i.tun.address6 = address6_of(v.address6);
    i.network_namespace = v.namespace_;
    i.tun.name = v.tun;
    i.tun.address = v.address;
    i.control_endpoint = v.control;
    i.telemetry_endpoint = v.telemetry;
    return i;
}

// fd42:10:42::2/64 -> fd42:10:42::(n + 1)/64.
std::string nth_address6(const std::string& address, int n) {
    in6_addr bytes = bytes_of_address6(address);
    for (int carry = n - 1, i = 15; carry > 0 && i >= 0; --i) {
        carry += bytes.s6_addr[i];
        bytes.s6_addr[i] = static_cast<std::uint8_t>(carry);
        carry >>= 8;
    }
    std::array<char, INET6_ADDRSTRLEN> text{};
    inet_ntop(AF_INET6, &bytes, text.data(), text.size());
    return text.data() + address.substr(address.rfind('/'));
}

// The nth terminal's interface: 10.42.0.2 -> 10.42.0.(n + 1), namespace "terminal" -> "terminal2".
interface_config nth(interface_config c, int n, const config::settings& s) {
    if (n == 1) return c;
    if (c.network_namespace.empty())
        throw s.not_valid(name::terminals, "1 without terminal.namespace");
    c.network_namespace += std::to_string(n);
    const auto dot = c.tun.address.rfind('.'), slash = c.tun.address.rfind('/');
    const int last = dot == std::string::npos ? 255 : std::atoi(c.tun.address.c_str() + dot + 1);
    if (last + n - 1 > 254)
        throw s.not_valid(name::terminal_address,
                          "an IPv4 address after which there is room for the other terminals");
    c.tun.address = c.tun.address.substr(0, dot + 1) + std::to_string(last + n - 1) +
                    c.tun.address.substr(slash);
    if (!c.tun.address6.empty()) c.tun.address6 = nth_address6(c.tun.address6, n);
    return c;
}

void wlan_from(const config::settings& s, const config::wlan_settings& v, emulator_config& c) {
    auto& cell = c.wlan.cell;
    cell.rate_mbps = v.rate_mbps;
    cell.control_mbps = v.control_rate_mbps;
    cell.short_preamble = v.short_preamble;
    cell.rts_threshold = v.rts_threshold;
    cell.retry_limit = v.retry_limit;
    cell.dynamic_limit = config::translated(v.retry_policy, false, true);
    cell.patience_ms = v.patience_ms;
    cell.late_growth = config::translated(v.window_growth, false, true);
    cell.put_back = v.put_back;
    cell.hops = v.hops;
    cell.queue_packets = v.queue_packets;
    cell.stations = c.cell.cell.users;
    cell.seed = c.cell.seed;
    auto& errors = c.wlan.errors;
    using model = packet_model::attempt_config::model;
    errors.kind = config::translated(v.errors, model::none, model::burst, model::gilbert_elliott,
                                     model::fading);
    using way = config::wlan_errors_of_choice;
    c.wlan.errors_up = v.errors_of != way::down;
    c.wlan.errors_down = v.errors_of != way::up;
    c.wlan.errors_station = v.errors_station;
    if (c.wlan.errors_station > cell.stations)
        throw s.not_valid(name::wlan_errors_station,
                          "0 (all), or 1.." + std::to_string(cell.stations) + " (terminals)");
    errors.from_s = v.errors_from_s;
    errors.for_s = v.errors_for_s;
    errors.burst = v.burst;
    errors.good_ms = v.good_ms;
    errors.bad_ms = v.bad_ms;
    errors.snr_db = c.channel.snr_db;
    errors.needed_db = packet_model::needed_db_of(cell.rate_mbps);
    errors.doppler_hz = c.channel.speed_kmh.value_or(3) / 3.6 * wlan_wavelengths_per_m;
    errors.seed = c.cell.seed;
    c.wlan.to_base = c.cell.to_base;
    c.wlan.from_base = c.cell.from_base;
}

void delay_injection_from(const config::delay_injection_settings& v, emulator_config& c) {
    delay_injection_config d;
    using mode = delay_injection_config::mode;
    d.kind = config::translated(v.mode, mode::off, mode::fixed, mode::adaptive);
    d.static_ms = v.static_ms;
    d.factor = v.factor;
    using reading = delay_injection_config::reading;
    d.read_as = config::translated(v.reading, reading::rules, reading::listing, reading::figure);
    // Acknowledgements of uplink flows go down.
    using flows = config::delay_injection_flows_choice;
    c.delay_down = c.delay_up = d;
    if (v.flows == flows::downlink) c.delay_down.kind = mode::off;
    if (v.flows == flows::uplink) c.delay_up.kind = mode::off;
}

std::int64_t nanoseconds(double ms) { return std::llround(ms * 1e6); }

// FROM,LENGTH,FROM,LENGTH,... in seconds.
std::vector<umts::episode> episodes_from(const config::settings& s, const char* key,
                                         const std::vector<double>& given) {
    if (given.size() % 2 != 0)
        throw s.not_valid(key, "pairs of begin and length in seconds, such as 10,0.5,20,1");
    std::vector<umts::episode> all;
    for (std::size_t i = 0; i < given.size(); i += 2)
        all.push_back({nanoseconds(given[i] * 1e3), nanoseconds(given[i + 1] * 1e3)});
    return all;
}

umts::block_error_config errors_from(const config::settings& s, const char* trace_key, double rate,
                                     const std::vector<int>& trace, umts::error_model model,
                                     double burst, double p12, double p22) {
    if (!trace.empty() && std::ranges::all_of(trace, [](int n) { return n == 0; }))
        throw s.not_valid(trace_key,
                          "numbers of blocks that arrive, are lost, arrive, ..., at least one of "
                          "them more than 0");
    return {model, rate, burst, p12, p22, trace};
}

void triggers_from(const config::umts_settings& v, umts::am_config& c) {
    c.poll_last = v.poll_last;
    c.poll_last_retransmitted = v.poll_retransmitted;
    c.poll_pdus = v.poll_pdus;
    c.poll_sdus = v.poll_sdus;
    c.poll_window_percent = v.poll_window_percent;
    c.poll_period_ns = nanoseconds(v.poll_period_ms);
    c.poll_timer_ns = nanoseconds(v.poll_timer_ms);
    c.poll_prohibit_ns = nanoseconds(v.poll_prohibit_ms);
    c.status_missing = v.status_missing;
    c.status_period_ns = nanoseconds(v.status_period_ms);
    c.status_prohibit_ns = nanoseconds(v.status_prohibit_ms);
    using format = umts::missing_format;
    c.format = config::translated(v.status_format, format::list, format::bitmap, format::rlist);
}

umts::rrc_config rrc_from(const config::umts_settings& v) {
    umts::rrc_config c;
    c.always_dch = config::translated(v.rrc, true, false);
    c.set_up_ns = nanoseconds(v.rrc_set_up_ms);
    c.page_ns = nanoseconds(v.rrc_page_ms);
    c.switch_ns = nanoseconds(v.rrc_switch_ms);
    c.dch_inactive_ns = nanoseconds(v.rrc_dch_s * 1e3);
    c.fach_inactive_ns = nanoseconds(v.rrc_fach_s * 1e3);
    c.pch_inactive_ns = nanoseconds(v.rrc_pch_s * 1e3);
    c.threshold_bytes = v.rrc_threshold_bytes;
    c.fach_kbps = v.rrc_fach_kbps;
    return c;
}

// Rates, delays and PDU of the profile, unless others are given.
umts::bearer_profile profile_from(const config::settings& s, const config::umts_settings& v) {
    auto profile = *umts::find_bearer_profile(std::string(config::text_of(v.profile)));
    if (v.down_kbps != 0) profile.kbps_down = v.down_kbps;
    if (v.up_kbps != 0) profile.kbps_up = v.up_kbps;
    if (v.one_way_ms != 0) profile.one_way_ms = v.one_way_ms;
    if (v.radio_ms) {
        const double most = profile.one_way_ms - 1.5 * profile.tti_ms;
        if (*v.radio_ms > most && most >= 0)
            throw s.not_valid(name::umts_radio_ms,
                              "0.." + text_of(most) + " ms (umts.one_way_ms less 1.5 TTI)");
        profile.radio_ms = *v.radio_ms;
    }
    if (v.pdu_octets != 0) profile.block_down = v.pdu_octets;
    return profile;
}

umts::am_config rlc_from(const config::umts_settings& v) {
    umts::am_config c;
    using discard = umts::discard_mode;
    c.discard = config::translated(v.discard, discard::never, discard::after_max_dat,
                                   discard::reset, discard::timer);
    c.max_dat = v.max_dat;
    using counting = umts::poll_counting;
    c.poll_counted = config::translated(v.poll_counted, counting::with_retransmissions,
                                        counting::always, counting::never);
    c.discard_ns = nanoseconds(v.discard_ms);
    triggers_from(v, c);
    c.window = v.window;
    c.in_sequence = config::translated(v.order, true, false);
    return c;
}

umts::bearer_config bearer_from(const config::settings& s,
                                const config::emulator_configuration& all) {
    const auto& v = all.umts;
    umts::bearer_config b;
    b.profile = profile_from(s, v);
    using rlc = umts::rlc_mode;
    b.mode = config::translated(v.mode, rlc::acknowledged, rlc::unacknowledged, rlc::transparent);
    b.pdus_alone = config::translated(v.error_unit, false, true);
    b.outcome = config::translated(v.feedback, umts::feedback::status, umts::feedback::known);
    b.again_ns = nanoseconds(v.again_ms);
    b.given_up_is_final = config::translated(v.given_up, false, true);
    using model = umts::error_model;
    const model down =
        config::translated(v.error_model, model::uniform, model::markov2, model::chain3,
                           model::birth_death, model::burst, model::external);
    const model as_down = down == model::external ? model::uniform : down;
    const model up =
        config::translated(v.up_error_model, as_down, model::uniform, model::markov2, model::chain3,
                           model::birth_death, model::burst, model::external);
    b.errors_down = errors_from(s, name::umts_error_trace, v.errors, v.error_trace, down,
                                v.error_burst, v.error_p12, v.error_p22);
    b.errors_up =
        errors_from(s, name::umts_up_error_trace, v.up_errors, v.up_error_trace, up,
                    v.up_error_burst == 0 ? v.error_burst : v.up_error_burst,
                    v.up_error_p12.value_or(v.error_p12), v.up_error_p22.value_or(v.error_p22));
    b.rlc = rlc_from(v);
    b.rlc.queue_sdus = all.link.queue_packets;
    b.granted_window = v.receiver_window;
    b.control = rrc_from(v);
    b.spikes = episodes_from(s, name::umts_spikes, v.spikes);
    b.outages = episodes_from(s, name::umts_outages, v.outages);
    b.seed = all.seed;
    for (const auto& [key, direction, e] : {std::tuple(name::umts_errors, "", &b.errors_down),
                                            {name::umts_up_errors, "up_", &b.errors_up}})
        try {
            e->check(direction);
        } catch (const std::invalid_argument& why) {
            throw s.refuse(key, why.what());
        }
    for (const auto& [key, e] : {std::pair(name::umts_error_model, &b.errors_down),
                                 {name::umts_up_error_model, &b.errors_up}})
        if (e->model == model::external && b.profile.tti_ms * 1'000'000 != cells::block_ns)
            throw s.refuse(key, "valid: cells with a bearer profile whose TTI is 10 ms");
    try {
        b.check();
    } catch (const std::invalid_argument& e) {
        throw s.refuse(e.what());
    }
    return b;
}

umts::cell_config umts_cell_from(const config::settings& s,
                                 const config::emulator_configuration& all) {
    const auto& v = all.umts;
    umts::cell_config c;
    c.users = all.terminals;
    c.kbps = v.cell_kbps;
    using umts::sharing;
    c.method = config::translated(v.sharing, sharing::equal_throughput, sharing::equal_resource,
                                  sharing::max_ci);
    c.users_db = v.users_db;
    std::istringstream names(v.classes);
    for (std::string name; std::getline(names, name, ',');) {
        const auto at = std::ranges::find(umts::class_names, name);
        if (at == umts::class_names.end())
            throw s.not_valid(config::name::umts_classes,
                              "conversational, streaming, interactive and background, separated "
                              "by commas");
        c.classes.push_back(static_cast<umts::traffic_class>(at - umts::class_names.begin()));
    }
    return c;
}

// Where no bearer takes its block errors from them, they are not built.
cells::cells_config wcdma_from(const config::settings& s,
                               const config::emulator_configuration& all) {
    const auto& v = all.cells;
    cells::cells_config c;
    c.cells = v.count;
    c.wrap = v.wrap;
    c.side_m = v.side_m;
    c.users = v.users == 0 ? all.terminals : v.users;
    c.carriers = v.carriers;
    c.spreading = v.spreading;
    c.of = config::translated(v.direction, cells::direction::uplink, cells::direction::downlink);
    c.orthogonality = v.orthogonality;
    c.path_exponent = v.path_exponent;
    c.path_gain_db = v.path_gain_db;
    c.shadowing_db = v.shadowing_db;
    c.shadowing_m = v.shadowing_m;
    c.doppler_hz = v.doppler_hz;
    c.rays = v.rays;
    c.oscillators = v.oscillators;
    c.noise_dbw = v.noise_dbw;
    c.power_dbw = v.power_dbw;
    c.power_range_db = v.power_range_db;
    c.step_db = v.step_db;
    c.loop_slots = v.loop_slots;
    c.target_low_db = v.target_low_db;
    c.target_high_db = v.target_high_db;
    c.eesm_beta = v.eesm_beta;
    c.margin_db = v.margin_db;
    c.curve_db = v.curve_db;
    c.speed_kmh = v.speed_kmh;
    c.handover_db = v.handover_db;
    if (c.users < all.terminals)
        throw s.refuse(name::cells_users,
                       "valid: 0, or at least terminals = " + std::to_string(all.terminals));
    try {
        c.check();
    } catch (const std::invalid_argument& e) {
        throw s.refuse("cells." + std::string(e.what()));
    }
    return c;
}

// The texts of the networks, of places among them and of chains (handover/handover_config.h).
hetnet::handover_config handover_from(const config::settings& s,
                                      const config::emulator_configuration& all) {
    const auto& v = all.hetnet;
    hetnet::handover_config c;
    const auto read = [&s](const char* key, auto of_text) {
        try {
            of_text();
        } catch (const std::invalid_argument& e) {
            throw s.refuse(key, e.what());
        }
    };
    read(name::hetnet_networks, [&] { c.networks = hetnet::networks_of(v.networks); });
    if (v.network != "first")
        read(name::hetnet_network, [&] { c.first = hetnet::place_of(v.network, c.networks); });
    using hetnet::buffering;
    c.keep =
        config::translated(v.buffering, buffering::none, buffering::intermediate, buffering::full);
    c.delay_s = v.delay_s;
    read(name::hetnet_plan, [&] { c.plan = hetnet::plan_of(v.plan, c.networks); });
    c.network_timer_s = v.network_timer_s;
    c.state_timer_ms = v.state_timer_ms;
    read(name::hetnet_network_chain, [&] {
        c.network_chain = hetnet::matrix_of(v.network_chain, c.networks.size());
        hetnet::check_network_chain(c);
    });
    read(name::hetnet_state_chain, [&] {
        c.state_chains = hetnet::state_chains_of(v.state_chain, c.networks);
        hetnet::check_state_chains(c);
    });
    c.held_mb = v.held_mb;
    c.seed = all.seed;
    return c;
}

// Its queues are those of the OFDM cell.
trace_path_config recorded_from(const config::trace_settings& v, const emulation_config& cell) {
    trace_path_config c;
    const auto& link = cell.cell.link;
    c.down = {v.file, v.light_file, link.queue_packets, link.queue};
    c.up = {v.up_file.empty() ? v.file : v.up_file,
            v.up_light_file.empty() ? v.light_file : v.up_light_file, cell.uplink.queue_packets,
            cell.uplink.queue};
    c.delay_ms = v.delay_ms;
    c.seed = cell.seed;
    return c;
}

channel_config channel_from(const config::channel_settings& v) {
    channel_config c;
    c.model = v.model;
    c.snr_db = v.snr_db;
    c.speed_kmh = v.speed_kmh;
    using use = profiles::channel_choice::use;
    c.shadowing_db = v.shadowing.number;
    c.shadowing = v.shadowing.number
                      ? use::on
                      : config::translated(v.shadowing.word, use::as_defined, use::on, use::off);
    c.blackout_ms = v.blackout.number.value_or(
        config::translated(v.blackout.word, std::numeric_limits<double>::infinity(), 0.0));
    c.bins_db.assign(v.bins_db.begin(), v.bins_db.end());
    c.users_db.assign(v.users_db.begin(), v.users_db.end());
    using mean = bin_model::prediction_mean;
    c.prediction_mean = config::translated(v.prediction_mean, mean::unbiased, mean::plain);
    c.prediction_nmse = v.prediction_nmse;
    return c;
}

}  // namespace

in6_addr bytes_of_address6(const std::string& address) {
    in6_addr bytes{};
    inet_pton(AF_INET6, address.substr(0, address.rfind('/')).c_str(), &bytes);
    return bytes;
}

const std::vector<config::key>& emulator_keys() {
    static const auto keys = config::keys_of(config::process::emulator,
                                             {{"interface_name", check_interface_name},
                                              {"interface_address", check_interface_address},
                                              {"interface_address6", check_interface_address6}});
    return keys;
}

emulator_config translate(config::settings& s) {
    s.finish();
    config::fill_in_run_folder(s);
    const auto v = config::read_emulator(s);
    emulator_config c;
    c.name = v.name;
    c.user = v.user;
    c.pacing_limit_ms = v.pacing_limit_ms;
    c.telemetry = v.telemetry;
    c.air_control_endpoint = v.control;
    c.server = interface_from(v.server, v.tun.mtu);
    c.cell.cell.users = v.terminals;
    c.given = std::make_shared<const config::emulator_configuration>(v);
    c.kind = v.link.kind;
    c.bearer = bearer_from(s, v);
    c.umts_cell = umts_cell_from(s, v);
    c.wcdma = wcdma_from(s, v);
    c.spike_ms = v.umts.spike_ms;
    c.outage_ms = v.umts.outage_ms;
    // A slot of the OFDM cell has 25 bins; no other link has been run with more terminals.
    constexpr int most_elsewhere = 25;
    if (v.terminals > most_elsewhere && c.kind != link_kind::umts)
        throw s.not_valid(name::terminals,
                          "up to " + std::to_string(most_elsewhere) + ", and up to " +
                              std::to_string(setting::terminals.high) + " with link.kind = umts");
    for (int n = 1; n <= c.cell.cell.users; ++n)
        c.terminals.push_back(nth(interface_from(v.terminal, v.tun.mtu), n, s));
    host::check_mtu(s, c.server.tun.mtu, has_ipv6(c.server.tun) || has_ipv6(c.terminals[0].tun),
                    "server.address6, terminal.address6");
    if (c.server.network_namespace == c.terminals[0].network_namespace &&
        c.server.tun.name == c.terminals[0].tun.name)
        throw s.not_valid(name::terminal_tun, "another interface than server.tun in one namespace");

    auto& cell = c.cell;
    cell.seed = v.seed;
    cell.cell.link = host::link_from(v.link, v.seed);
    c.tcp_l = v.link.tcp_l;
    c.controller = v.split_tcp.controller;
    using method = config::scheduling_method_choice;
    cell.cell.scheduling = *scheduling_of(std::string(v.scheduling.method == method::as_allocation
                                                          ? config::text_of(v.link.allocation)
                                                          : config::text_of(v.scheduling.method)));
    c.rules = {v.link.scheduler, v.link.adaptation};
    cell.cell.averaging_slots = v.scheduling.averaging_slots;
    cell.uplink = host::uplink_from(v.uplink, v.seed);
    std::tie(cell.to_base, cell.from_base) = host::wired_from(v.to_base, v.from_base, v.seed);
    using method_of_errors = bin_model::error_method;
    cell.errors = config::translated(v.channel.errors, method_of_errors::symbols,
                                     method_of_errors::computed, method_of_errors::none);
    cell.cell.link.eight = config::translated(v.channel.eight_points, eight_points::star,
                                              eight_points::cross, eight_points::rectangle);
    c.channel = channel_from(v.channel);
    wlan_from(s, v.wlan, c);
    c.handover = handover_from(s, v);
    c.recorded = recorded_from(v.trace, c.cell);
    delay_injection_from(v.delay_injection, c);
    c.snoop.on = v.link.snoop;
    return c;
}

}  // namespace wip::emulator
