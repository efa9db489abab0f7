// SPDX-License-Identifier: GPL-3.0-or-later
#include "medium/air_config.h"

#include <algorithm>
#include <stdexcept>

#include "air/shared_air.h"
#include "config/settings_table.h"
#include "medium/channel_request.h"
#include "medium/impairment_config.h"
#include "profiles/channel_definition.h"
#include "runtime/privileges.h"
#include "types/failure.h"

namespace wip::air {
namespace {

std::string check_name(std::string_view text) {
    return shared_air::valid_name(std::string(text)) ? ""
                                                     : "1 to 31 characters of a-z A-Z 0-9 _ . -";
}
std::string check_account(std::string_view text) {
    return text.empty() || runtime::find_account(std::string(text)) ? ""
                                                                    : "an account of this machine";
}

void read_air(const config::settings& s, medium_config& c) {
    c.name = s.text("air.name");
    c.clock = s.text("air.clock") == "lockstep" ? clock_kind::lockstep : clock_kind::realtime;
    c.speed = s.real("air.speed");
    if (c.speed == 0 && c.clock == clock_kind::realtime)
        throw s.refuse("air.speed", "not valid; expected more than 0 with clock: realtime");
    if (c.speed != 0 && c.speed < 0.001)
        throw s.refuse("air.speed", "not valid; expected 0 or from 0.001 to 100");
    c.wait_transmitters = static_cast<int>(s.integer("air.wait_for.transmitters"));
    c.wait_receivers = static_cast<int>(s.integer("air.wait_for.receivers"));
    c.control = s.text("air.control");
    c.fader = s.text("air.fader");
    c.pacing_limit_ms = s.real("air.pacing_limit_ms");
    c.stations_may_die = s.flag("air.stations_may_die");
    c.quantum = s.integer("air.quantum");
    c.priority = static_cast<int>(s.integer("air.priority"));
    c.user = s.text("air.user");
}

void read_nodes(const config::settings& s, mix::mix_config& c) {
    for (const auto& node : s.entries("nodes")) {
        const std::string name = node.substr(std::string("nodes.").size());
        if (const auto valid = check_name(name); !valid.empty())
            throw s.refuse(node, "not valid; expected node names of " + valid);
        c.nodes.push_back({name, s.number(node + ".noise_dbfs"),
                           read_impairments(s, node + ".impairments", true),
                           s.real(node + ".transmit_dbfs")});
    }
    if (c.nodes.empty() || c.nodes.size() > max_nodes)
        throw s.refuse("nodes: expected 1 to " + std::to_string(max_nodes) +
                       " of them, for example base: {}");
}

std::size_t node_of(const config::settings& s, const std::string& path, const mix::mix_config& c) {
    std::string names;
    for (std::size_t i = 0; i < c.nodes.size(); ++i) {
        if (c.nodes[i].name == s.text(path)) return i;
        names += (i == 0 ? "" : ", ") + c.nodes[i].name;
    }
    throw s.refuse(path, "not valid; expected one of " + names);
}

// The SNR of a bin whose gain is 1.
double unit_snr_db(const config::settings& s, const std::string& at, const path_config& path,
                   const mix::mix_config& c) {
    const mix::node_config& receiver = c.nodes[path.to];
    if (const auto given = s.number(at + ".trace_snr_db")) return *given;
    if (!receiver.noise_dbfs)
        throw s.refuse(at + ".channel",
                       "not valid; expected trace_snr_db beside a trace, or "
                       "noise_dbfs of its receiver, which its SNR refers to");
    return (level_at_unit_gain(c.nodes[path.from], path) - dbfs(*receiver.noise_dbfs)).value;
}

void read_trace_of(const config::settings& s, const std::string& at, path_config& path,
                   const mix::mix_config& c, const read_trace_fn& read_trace) {
    for (const char* key : {".delay_spread_ns", ".doppler_hz", ".speed_kmh", ".carrier_hz"})
        if (s.number(at + key))
            throw s.refuse(at + key, "not valid; expected none beside a trace, which has its own");
    if (path.request.shadowing.on)
        throw s.refuse(at + ".shadowing",
                       "not valid; expected off with a trace, which has its own");
    const double unit = unit_snr_db(s, at, path, c);
    try {
        if (!read_trace) throw bad_input("no traces are played here");
        path.trace = {read_trace(path.request.model, s.text("air.user")), unit};
        const sample_model::trace_filter checked(*path.trace);
    } catch (const std::exception& e) {
        throw s.refuse(at + ".channel", std::string("not valid (") + e.what() + ")");
    }
}

void read_path(const config::settings& s, const std::string& at, mix::mix_config& c,
               const read_trace_fn& read_trace) {
    path_config path;
    path.from = node_of(s, at + ".from", c);
    for (const auto& one : c.nodes[path.from].impairments)
        if (std::holds_alternative<sample_model::clock_offset_config>(one))
            throw s.refuse(at + ".from",
                           "not valid; expected a node without a clock of its own, which only "
                           "receives");
    path.to = node_of(s, at + ".to", c);
    path.gain_db = s.real(at + ".gain_db");
    path.delay_samples = s.integer(at + ".delay_samples");
    path.user = static_cast<std::uint32_t>(
        s.number(at + ".user").value_or(static_cast<double>(c.paths.size())));
    path.request = {.model = s.text(at + ".channel"),
                    .delay_spread_ns = s.number(at + ".delay_spread_ns"),
                    .doppler_hz = s.number(at + ".doppler_hz"),
                    .speed_kmh = s.number(at + ".speed_kmh"),
                    .carrier_hz = s.number(at + ".carrier_hz"),
                    .shadowing = read_shadowing(s, at + ".shadowing")};
    if (path.request.doppler_hz && path.request.speed_kmh)
        throw s.refuse(at + ".speed_kmh", "not valid; expected none beside doppler_hz");
    if (is_trace(path.request.model))
        read_trace_of(s, at, path, c, read_trace);
    else if (!path.request.model.empty())
        try {
            path.channel = realise(path.request, path.user, c.seed);
        } catch (const std::invalid_argument& e) {
            throw s.refuse(at + ".channel",
                           "not valid; expected " + channel_models() + " (" + e.what() + ")");
        }
    path.frequency_shift_hz = s.real(at + ".frequency_shift_hz");
    path.impairments = read_impairments(s, at + ".impairments", false);
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
void check_delays(const config::settings& s, const medium_config& c) {
    constexpr std::int64_t filters = 1024;  // of fading, trace and clock; they remember less
    const std::int64_t most = static_cast<std::int64_t>(transmit_fifo_size) - filters - c.quantum;
    std::int64_t longest = 0;
    std::string receiver;
    for (std::size_t i = 0; i < c.nodes.size(); ++i)
        if (const auto n = memory_of(c.nodes[i].impairments, true); n > longest)
            longest = n, receiver = s.entries("nodes")[i];
    for (std::size_t i = 0; i < c.paths.size(); ++i) {
        const std::int64_t memory = memory_of(c.paths[i].impairments, false);
        const std::int64_t all = memory + longest + c.paths[i].delay_samples;
        if (all > most)
            throw s.refuse((memory > longest ? s.entries("paths")[i] : receiver) + ".impairments",
                           "not valid (" + std::to_string(all) +
                               " samples from transmitter to receiver); expected at most " +
                               std::to_string(most) + " in all");
    }
}

}  // namespace

const config::text_checks& air_checks() {
    static const config::text_checks checks{{"medium_name", check_name},
                                            {"account_or_none", check_account}};
    return checks;
}

void read_mix(const config::settings& s, mix::mix_config& c, const read_trace_fn& read_trace) {
    c.seed = static_cast<std::uint64_t>(s.integer("air.seed"));
    c.hearing_hz = s.real("air.hearing_hz");
    read_nodes(s, c);
    for (const auto& path : s.entries("paths")) read_path(s, path, c, read_trace);
}

medium_config translate(config::settings& s, const read_trace_fn& read_trace) {
    s.finish();
    if (s.text("air.clock") == "realtime")
        s.set_default("air.quantum", std::to_string(realtime_quantum));
    medium_config c;
    read_air(s, c);
    read_mix(s, c, read_trace);
    check_delays(s, c);
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
    static const auto keys = config::settings_table::built_in().keys("medium", air_checks());
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
