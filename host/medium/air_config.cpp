// SPDX-License-Identifier: GPL-3.0-or-later
#include "medium/air_config.h"

#include <algorithm>
#include <stdexcept>

#include "air/shared_air.h"
#include "config/settings_table.h"
#include "medium/channel_request.h"
#include "medium/impairment_config.h"
#include "os/privileges.h"
#include "profiles/channel_definition.h"
#include "types/failure.h"

namespace wip::air {
namespace {

namespace name = config::name;

// Reads the traces that paths name, as the account that the process becomes.
struct trace_reader {
    const read_trace_fn& read;
    const std::string& user;
};

std::string check_name(std::string_view text) {
    return shared_air::valid_name(std::string(text)) ? ""
                                                     : "1 to 31 characters of a-z A-Z 0-9 _ . -";
}
std::string check_account(std::string_view text) {
    return text.empty() || os::find_account(std::string(text)) ? "" : "an account of this machine";
}

void read_air(const config::medium_air_settings& v, medium_config& c) {
    c.name = v.name;
    c.clock = config::translated(v.clock, clock_kind::lockstep, clock_kind::realtime);
    c.speed = v.speed;
    c.wait_transmitters = v.wait_for_transmitters;
    c.wait_receivers = v.wait_for_receivers;
    c.control = v.control;
    c.fader = v.fader;
    c.pacing_limit_ms = v.pacing_limit_ms;
    c.stations_may_die = v.stations_may_die;
    c.quantum = v.quantum;
    c.priority = v.priority;
    c.user = v.user;
}

void read_nodes(const config::settings& s, const std::vector<config::nodes_entry>& nodes,
                mix::mix_config& c) {
    for (const auto& node : nodes) {
        if (const auto valid = check_name(node.name); !valid.empty())
            throw s.not_valid(node.at, "node names of " + valid);
        c.nodes.push_back(
            {node.name, node.noise_dbfs,
             read_impairments(s, node.at + name::nodes_impairments, node.impairments, true),
             node.transmit_dbfs});
    }
    if (c.nodes.empty() || c.nodes.size() > max_nodes)
        throw s.refuse("nodes has " + std::to_string(c.nodes.size()) + "; valid: 1.." +
                       std::to_string(max_nodes) + " of them, for example base: {}");
}

std::size_t node_of(const config::settings& s, const std::string& path, const std::string& node,
                    const mix::mix_config& c) {
    std::string names;
    for (std::size_t i = 0; i < c.nodes.size(); ++i) {
        if (c.nodes[i].name == node) return i;
        names += (i == 0 ? "" : ", ") + c.nodes[i].name;
    }
    throw s.not_valid(path, "one of " + names);
}

// The SNR of a bin whose gain is 1.
double unit_snr_db(const config::settings& s, const config::paths_entry& v, const path_config& path,
                   const mix::mix_config& c) {
    const mix::node_config& receiver = c.nodes[path.to];
    if (v.trace_snr_db) return *v.trace_snr_db;
    if (!receiver.noise_dbfs)
        throw s.not_valid(v.at + name::paths_channel,
                          "trace_snr_db beside a trace, or "
                          "noise_dbfs of its receiver, which its SNR refers to");
    return (level_at_unit_gain(c.nodes[path.from], path) - dbfs(*receiver.noise_dbfs)).value;
}

void read_trace_of(const config::settings& s, const config::paths_entry& v, path_config& path,
                   const mix::mix_config& c, const trace_reader& traces) {
    for (const auto& [key, given] : {std::pair{name::paths_delay_spread_ns, v.delay_spread_ns},
                                     {name::paths_doppler_hz, v.doppler_hz},
                                     {name::paths_speed_kmh, v.speed_kmh},
                                     {name::paths_carrier_hz, v.carrier_hz}})
        if (given) throw s.not_valid(v.at + key, "none beside a trace, which has its own");
    if (path.request.shadowing.on)
        throw s.not_valid(v.at + name::paths_shadowing, "off with a trace, which has its own");
    const double unit = unit_snr_db(s, v, path, c);
    try {
        if (!traces.read)
            throw bad_input("this program plays no SNR traces; valid: a channel definition");
        path.trace = {traces.read(path.request.model, traces.user), unit};
        const sample_model::trace_filter checked(*path.trace);
    } catch (const std::exception& e) {
        throw s.refuse(v.at + name::paths_channel, e.what());
    }
}

void read_path(const config::settings& s, const config::paths_entry& v, mix::mix_config& c,
               const trace_reader& traces) {
    path_config path;
    path.from = node_of(s, v.at + name::paths_from, v.from, c);
    for (const auto& one : c.nodes[path.from].impairments)
        if (std::holds_alternative<sample_model::clock_offset_config>(one))
            throw s.not_valid(v.at + name::paths_from,
                              "a node without a clock of its own, which only "
                              "receives");
    path.to = node_of(s, v.at + name::paths_to, v.to, c);
    path.gain_db = v.gain_db;
    path.delay_samples = v.delay_samples;
    path.user =
        v.user ? static_cast<std::uint32_t>(*v.user) : static_cast<std::uint32_t>(c.paths.size());
    path.request = {.model = v.channel,
                    .delay_spread_ns = v.delay_spread_ns,
                    .doppler_hz = v.doppler_hz,
                    .speed_kmh = v.speed_kmh,
                    .carrier_hz = v.carrier_hz,
                    .shadowing = shadowing_from(v.shadowing)};
    if (path.request.doppler_hz && path.request.speed_kmh)
        throw s.not_valid(v.at + name::paths_speed_kmh,
                          "none beside doppler_hz, which says the same");
    if (is_trace(path.request.model))
        read_trace_of(s, v, path, c, traces);
    else if (!path.request.model.empty())
        try {
            path.channel = realise(path.request, path.user, c.seed);
        } catch (const std::invalid_argument& e) {
            throw s.refuse(v.at + name::paths_channel,
                           std::string(e.what()) + "; valid: " + channel_models());
        }
    path.frequency_shift_hz = v.frequency_shift_hz;
    path.impairments = read_impairments(s, v.at + name::paths_impairments, v.impairments, false);
    c.paths.push_back(path);
}

// A receiver's clock keeps nothing.
std::int64_t memory_of(const std::vector<sample_model::impairment_config>& list, bool receiver) {
    std::int64_t sum = 0;
    for (const auto& one : list)
        if (!receiver || !std::holds_alternative<sample_model::clock_offset_config>(one))
            sum += sample_model::stage_chain({one}, {}).memory();
    return sum;
}

// Delayed samples stay in the transmitter's FIFO: a full one would stop lockstep for good.
void check_delays(const config::settings& s, const config::medium_configuration& v,
                  const medium_config& c) {
    // samples that fading, trace and clock filters remember at most
    constexpr std::int64_t filters = 1024;
    const std::int64_t most = static_cast<std::int64_t>(transmit_fifo_size) - filters - c.quantum;
    std::int64_t longest = 0;
    std::string receiver;
    for (std::size_t i = 0; i < c.nodes.size(); ++i)
        if (const auto n = memory_of(c.nodes[i].impairments, true); n > longest)
            longest = n, receiver = v.nodes[i].at;
    for (std::size_t i = 0; i < c.paths.size(); ++i) {
        const std::int64_t memory = memory_of(c.paths[i].impairments, false);
        const std::int64_t all = memory + longest + c.paths[i].delay_samples;
        if (all > most)
            throw s.refuse((memory > longest ? v.paths[i].at : receiver) + name::paths_impairments,
                           std::to_string(all) +
                               " samples from transmitter to receiver are too many; valid: up to " +
                               std::to_string(most) + " in all");
    }
}

}  // namespace

const config::text_checks& air_checks() {
    static const config::text_checks checks{{"medium_name", check_name},
                                            {"account_or_none", check_account}};
    return checks;
}

void read_mix(const config::settings& s, const config::air_settings& air,
              const std::vector<config::nodes_entry>& nodes,
              const std::vector<config::paths_entry>& paths, mix::mix_config& c,
              const read_trace_fn& read_trace) {
    c.seed = air.seed;
    c.hearing_hz = air.hearing_hz;
    read_nodes(s, nodes, c);
    for (const auto& path : paths) read_path(s, path, c, {read_trace, air.user});
}

medium_config translate(config::settings& s, const read_trace_fn& read_trace) {
    s.finish();
    if (s.text(name::air_clock) == config::text_of(config::air_clock_choice::realtime))
        s.set_default(name::air_quantum, std::to_string(realtime_quantum));
    const auto v = config::read_medium(s);
    medium_config c;
    read_air(v.air, c);
    read_mix(s, v.air, v.nodes, v.paths, c, read_trace);
    check_delays(s, v, c);
    return c;
}

const std::vector<config::key>& file_keys() {
    static const auto keys = [] {
        auto all = running_keys();
        std::erase_if(all, [](const config::key& k) { return k.runtime; });
        return all;
    }();
    return keys;
}

const std::vector<config::key>& running_keys() {
    static const auto keys = config::keys_of(config::process::medium, air_checks());
    return keys;
}

const std::vector<config::key>& change_keys() {
    static const auto keys = [] {
        auto all = running_keys();
        std::erase_if(all, [](const config::key& k) { return k.path.starts_with("paths[]"); });
        for (config::key k : running_keys())
            if (k.runtime) {
                k.path.insert(0, "paths.*.");
                all.push_back(std::move(k));
            }
        return all;
    }();
    return keys;
}

medium_config parse_config(const std::string& text, const std::string& file_name,
                           const read_trace_fn& read_trace) {
    config::settings s(file_keys());
    s.merge_yaml(text, file_name);
    return translate(s, read_trace);
}

}  // namespace wip::air
