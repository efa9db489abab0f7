// SPDX-License-Identifier: GPL-3.0-or-later
#include "cabled/fader_config.h"

#include <algorithm>
#include <utility>

namespace wip::cabled {
namespace {

namespace name = config::name;

radio_config radio_from(const config::fader_nodes_entry& v) {
    return {.node = v.name,
            .arguments = v.radio,
            .channel = static_cast<std::size_t>(v.channel),
            .receive_gain_db = v.receive_gain_db,
            .transmit_gain_db = v.transmit_gain_db,
            .clock_source = std::string(config::text_of(v.clock_source)),
            .time_source = std::string(config::text_of(v.time_source))};
}

// Checks two nodes at one device: each has a channel of its own, and both have one clock.
void check_shared(const config::settings& s, const std::vector<radio_config>& radios) {
    for (std::size_t i = 0; i < radios.size(); ++i)
        for (std::size_t k = 0; k < i; ++k) {
            const radio_config &a = radios[i], &b = radios[k];
            if (a.arguments != b.arguments) continue;
            const std::string node = "nodes." + a.node;
            if (a.channel == b.channel)
                throw s.not_valid(node + name::nodes_channel, "another one than that of " + b.node +
                                                                  ", which has the same radio");
            if (a.clock_source != b.clock_source || a.time_source != b.time_source)
                throw s.not_valid(
                    node + name::nodes_clock_source,
                    "that of " + b.node + ", which has the same radio, and its time_source");
        }
}

// Several devices have one clock and one time by their inputs; software USRPs by their medium.
void check_common(const config::settings& s, const std::vector<radio_config>& radios) {
    const auto other = [&](const radio_config& r) { return r.arguments != radios[0].arguments; };
    if (std::ranges::none_of(radios, other)) return;
    for (const radio_config& r : radios) {
        if (r.arguments.find("type=vusrp") != std::string::npos) continue;
        for (const auto& [key, value] : {std::pair{name::nodes_clock_source, r.clock_source},
                                         {name::nodes_time_source, r.time_source}})
            if (value == "internal")
                throw s.not_valid("nodes." + r.node + key,
                                  "external or gpsdo: it is one of several radios, "
                                  "which need a common reference and pulse");
    }
}

}  // namespace

const std::vector<config::key>& fader_keys() {
    static const auto keys = config::keys_of(config::process::fader, air::air_checks());
    return keys;
}

fader_config translate(const config::settings& s, const air::read_trace_fn& read_trace) {
    s.finish();
    const auto v = config::read_fader(s);
    fader_config c;
    air::read_mix(s, v.air, {v.nodes.begin(), v.nodes.end()}, v.paths, c.setup.mix, read_trace);
    if (c.setup.mix.paths.empty())
        throw s.refuse(
            "paths is empty; valid: one or more, for example [{from: base, to: terminal}]");
    for (const auto& node : v.nodes) c.radios.push_back(radio_from(node));
    for (std::size_t i = 0; i < v.nodes.size(); ++i)
        for (const auto& one : c.setup.mix.nodes[i].impairments)
            if (std::holds_alternative<sample_model::clock_offset_config>(one) ||
                std::holds_alternative<sample_model::gap_config>(one))
                throw s.not_valid(
                    v.nodes[i].at + name::nodes_impairments,
                    "none of clock_offset and gap, which a fader "
                    "cannot make: its radios have one clock, and its delay is constant");
    check_shared(s, c.radios);
    check_common(s, c.radios);
    c.setup.chunk = v.fader.piece_samples;
    c.setup.delay = v.fader.delay_samples;
    if (c.setup.delay < 2 * c.setup.chunk)
        throw s.not_valid(name::fader_delay_samples, "at least twice fader.piece_samples, " +
                                                         std::to_string(2 * c.setup.chunk));
    c.name = v.air.name;
    c.control = v.air.control;
    c.user = v.air.user;
    c.priority = v.air.priority;
    c.frequency_hz = v.fader.frequency_hz;
    c.start_delay_s = v.fader.start_delay_s;
    c.record = v.fader.record;
    c.record_seconds = v.fader.record_s;
    return c;
}

}  // namespace wip::cabled
