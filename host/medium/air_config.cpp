// SPDX-License-Identifier: GPL-3.0-or-later
#include "medium/air_config.h"

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>
#include <sstream>
#include <stdexcept>

#include "air/shared_air.h"
#include "medium/channel_request.h"
#include "medium/impairment_config.h"
#include "profiles/channel_definition.h"
#include "profiles/yaml_place.h"
#include "runtime/privileges.h"

namespace wip::air {
namespace {

void read_air(const place& p, medium_config& c) {
    p.expect_keys({"name", "clock", "speed", "wait_for", "seed", "control", "pacing_limit_ms",
                   "quantum", "hearing_hz", "priority", "user"});
    const std::string name_valid = "1 to 31 characters of a-z A-Z 0-9 _ . -";
    c.name = p.at("name").text(name_valid);
    if (!shared_air::valid_name(c.name)) p.at("name").refuse(name_valid);
    if (const place v = p.at("clock"); v.given())
        c.clock =
            v.one_of({"lockstep", "realtime"}) == 0 ? clock_kind::lockstep : clock_kind::realtime;
    if (const place v = p.at("speed"); v.given()) {
        c.speed = v.number(0, 100, " (0: as fast as the stations can, lockstep only)");
        if (c.speed == 0 && c.clock == clock_kind::realtime)
            v.refuse("more than 0 with clock: realtime");
        if (c.speed != 0 && c.speed < 0.001) v.refuse("0 or from 0.001 to 100");
    }
    if (const place w = p.at("wait_for"); w.given()) {
        w.expect_keys({"transmitters", "receivers"});
        const auto count = [&](const char* key) {
            const place v = w.at(key);
            return v.given() ? static_cast<int>(v.integer(0, max_nodes)) : 0;
        };
        c.wait_transmitters = count("transmitters");
        c.wait_receivers = count("receivers");
    }
    if (const place v = p.at("seed"); v.given())
        c.seed = static_cast<std::uint64_t>(v.integer(0, INT64_MAX));
    if (const place v = p.at("control"); v.given()) {
        c.control = v.text("a ZeroMQ endpoint such as ipc:///run/air.control");
        if (c.control.rfind("ipc://", 0) != 0 && c.control.rfind("tcp://127.0.0.1:", 0) != 0)
            v.refuse("ipc://PATH or tcp://127.0.0.1:PORT");
    }
    if (const place v = p.at("pacing_limit_ms"); v.given())
        c.pacing_limit_ms = v.number(0.001, 10000);
    if (c.clock == clock_kind::realtime) c.quantum = realtime_quantum;
    if (const place v = p.at("quantum"); v.given()) c.quantum = v.integer(64, 65536);
    if (const place v = p.at("hearing_hz"); v.given()) c.hearing_hz = v.number(0, 3.84e6);
    if (const place v = p.at("priority"); v.given())
        c.priority = static_cast<int>(v.integer(0, 99));
    if (const place v = p.at("user"); v.given()) {
        c.user = v.text("an account of this machine");
        if (!runtime::find_account(c.user)) v.refuse("an account of this machine");
    }
}

void read_nodes(const place& p, medium_config& c) {
    if (!p.given() || !p.is_map()) p.refuse("a mapping of node names, for example base: {}");
    p.each_entry([&](const std::string& name, const place& n) {
        if (!shared_air::valid_name(name))
            n.refuse("node names of 1 to 31 characters of a-z A-Z 0-9 _ . -");
        node_config node{name, std::nullopt, {}};
        if (n.given()) {
            n.expect_keys({"noise_dbfs", "impairments"});
            if (const place v = n.at("noise_dbfs"); v.given()) node.noise_dbfs = v.number(-200, 20);
            node.impairments = read_impairments(n.at("impairments"), true);
        }
        c.nodes.push_back(node);
    });
    if (c.nodes.empty() || c.nodes.size() > max_nodes)
        p.refuse("1 to " + std::to_string(max_nodes) + " nodes");
}

void read_channel(const place& channel, path_config& path, std::uint64_t seed) {
    path.request.model = channel.text(channel_models());
    try {
        path.channel = realise(path.request, path.user, seed);
    } catch (const std::invalid_argument& e) {
        channel.refuse(channel_models() + " (" + e.what() + ")");
    }
}

void read_path(const place& p, medium_config& c) {
    p.expect_keys({"from", "to", "gain_db", "delay_samples", "channel", "delay_spread_ns",
                   "doppler_hz", "speed_kmh", "carrier_hz", "shadowing", "user",
                   "frequency_shift_hz", "impairments"});
    std::vector<std::string> names;
    for (const node_config& n : c.nodes) names.push_back(n.name);
    path_config path;
    path.from = p.at("from").one_of(names);
    for (const auto& one : c.nodes[path.from].impairments)
        if (std::holds_alternative<sample_model::clock_offset_config>(one))
            p.at("from").refuse("a node without a clock of its own, which only receives");
    path.to = p.at("to").one_of(names);
    if (const place v = p.at("gain_db"); v.given()) path.gain_db = v.number(-200, 100);
    if (const place v = p.at("delay_samples"); v.given())
        path.delay_samples = v.integer(0, max_delay_samples);
    path.user = static_cast<std::uint32_t>(c.paths.size());
    if (const place v = p.at("user"); v.given())
        path.user = static_cast<std::uint32_t>(v.integer(0, 255));
    path.request = read_request(p);
    if (const place v = p.at("channel"); v.given()) read_channel(v, path, c.seed);
    if (const place v = p.at("frequency_shift_hz"); v.given())
        path.frequency_shift_hz = v.number(-1e6, 1e6);
    path.impairments = read_impairments(p.at("impairments"), false);
    c.paths.push_back(path);
}

}  // namespace

medium_config parse_config(const std::string& text, const std::string& file_name) {
    YAML::Node root;
    try {
        root = YAML::Load(text);
    } catch (const YAML::Exception& e) {
        profiles::refuse(file_name + ": line " + std::to_string(e.mark.line + 1) +
                         ": not YAML: " + e.msg);
    }
    const place top(root, file_name, "");
    medium_config c;
    top.expect_keys({"air", "nodes", "paths"});
    read_air(top.at("air"), c);
    read_nodes(top.at("nodes"), c);
    if (const place paths = top.at("paths"); paths.given())
        paths.each_item([&](const place& p) { read_path(p, c); });
    return c;
}

medium_config read_config_file(const std::string& file) {
    std::ifstream in(file);
    const std::string text((std::istreambuf_iterator<char>(in)), {});
    if (!in.good() && !in.eof()) profiles::refuse(file + ": cannot be read; valid: a YAML file");
    return parse_config(text, file);
}

}  // namespace wip::air
