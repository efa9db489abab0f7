// SPDX-License-Identifier: GPL-3.0-or-later
// The scenarios of tests/vectors/usrp/scenarios.txt, and the model of the FPGA run on one of them.
#pragma once

#include <fstream>
#include <map>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "vusrp/fpga/receive_control.h"
#include "vusrp/fpga/transmit_control.h"

namespace wip::vusrp::fpga {

struct expected_event {
    std::string kind;
    tick time;
    int after_packets = -1;  // -1: not given
};

struct expected_result {
    std::vector<std::string> versions;
    std::vector<air_run> air;
    std::vector<dropped_run> dropped;
    std::vector<received_packet> received;
    std::vector<expected_event> events;
};

struct scenario {
    std::string family, id, title;
    bool transmit;
    tick ticks_per_sample, report_ticks;
    error_policy policy;
    int samples_per_packet, sample_store;
    std::vector<transmit_packet> packets;
    std::vector<receive_command> commands;
    std::vector<refusal> refuses;
    std::vector<expected_result> results;

    std::string name() const { return family + (transmit ? "_tx_" : "_rx_") + id; }
};

using fields = std::vector<std::string>;

inline fields split(const std::string& text, char at) {
    fields parts;
    std::istringstream in(text);
    for (std::string part; std::getline(in, part, at);)
        if (!part.empty()) parts.push_back(part);
    return parts;
}

inline bool is_given(const fields& f, std::size_t i) { return i < f.size() && f[i] != "-"; }

inline std::optional<tick> given(const fields& f, std::size_t i) {
    return is_given(f, i) ? std::optional<tick>(std::stoll(f[i])) : std::nullopt;
}

inline int number(const fields& f, std::size_t i, int otherwise = 0) {
    return is_given(f, i) ? std::stoi(f[i]) : otherwise;
}

inline scenario read_header(const fields& word) {
    scenario s{};
    s.family = word.at(1), s.id = word.at(3);
    s.transmit = word.at(2) == "tx";
    s.ticks_per_sample = std::stoll(word.at(4));
    s.report_ticks = std::stoll(word.at(5));
    if (s.transmit) {
        s.policy = word.at(6) == "burst" ? error_policy::next_burst : error_policy::next_packet;
    } else {
        s.samples_per_packet = std::stoi(word.at(6));
        s.sample_store = std::stoi(word.at(7));
    }
    return s;
}

inline void read_item(scenario& s, const std::string& key, const fields& f) {
    static const std::map<std::string, command_kind> kinds{{"start", command_kind::start},
                                                           {"stop", command_kind::stop},
                                                           {"done", command_kind::finite},
                                                           {"more", command_kind::chained}};
    if (key == "packets")
        s.packets.push_back({.arrival = std::stoll(f.at(0)),
                             .time = given(f, 1),
                             .samples = number(f, 2),
                             .end_of_burst = f.at(3) == "1",
                             .sequence = number(f, 4, static_cast<int>(s.packets.size())),
                             .gap_at = number(f, 5),
                             .gap = number(f, 6)});
    else if (key == "commands")
        s.commands.push_back({std::stoll(f.at(0)), kinds.at(f.at(1)), given(f, 2), number(f, 3)});
    else if (key == "refuses")
        s.refuses.push_back({std::stoll(f.at(0)), std::stoll(f.at(1))});
    else if (key == "air")
        s.results.back().air.push_back(
            {std::stoll(f.at(0)), number(f, 1), number(f, 2), number(f, 3)});
    else if (key == "dropped")
        s.results.back().dropped.push_back({number(f, 0), number(f, 1), number(f, 2)});
    else if (key == "received")
        s.results.back().received.push_back({std::stoll(f.at(0)), number(f, 1), f.at(2) == "1"});
    else if (key == "events")
        s.results.back().events.push_back({f.at(0), std::stoll(f.at(1)), number(f, 2, -1)});
    else
        throw std::runtime_error("scenarios.txt: a line that begins with " + key);
}

inline std::vector<scenario> read_scenarios(const std::string& path) {
    std::ifstream in(path);
    if (!in) throw std::runtime_error(path + " cannot be read");
    std::vector<scenario> all;
    for (std::string line; std::getline(in, line);) {
        const fields word = split(line, ' ');
        if (word.empty() || word[0] == "#") continue;
        const std::string& key = word[0];
        const fields rest(word.begin() + 1, word.end());
        if (key == "scenario")
            all.push_back(read_header(word));
        else if (key == "title")
            all.back().title = line.substr(key.size() + 1);
        else if (key == "result")
            all.back().results.emplace_back().versions = rest;
        else
            for (const std::string& item : rest) read_item(all.back(), key, split(item, ','));
    }
    return all;
}

// Ticks behind the last one at which anything happens in a scenario.
inline constexpr tick end_of_transmission = 1'000'000, end_of_reception = 60'000;

inline receive_setting setting_of(const scenario& s) {
    return {.ticks_per_sample = s.ticks_per_sample,
            .report_ticks = s.report_ticks,
            .samples_per_packet = s.samples_per_packet,
            .store_samples = s.sample_store};
}

// A scenario in the model with the rules of a family and version, maybe changed.
inline transmit_outcome run_transmit(const scenario& s, const transmit_rules& rules) {
    transmit_control control(rules, s.ticks_per_sample, s.policy, s.report_ticks);
    for (const transmit_packet& p : s.packets) control.packet(p);
    control.advance(end_of_transmission);
    return control.take();
}

inline receive_outcome run_receive(const scenario& s, const receive_rules& rules) {
    receive_control control(rules, setting_of(s));
    for (const refusal& r : s.refuses) control.refuse(r);
    for (const receive_command& c : s.commands) control.command(c);
    control.advance(end_of_reception);
    return control.take();
}

}  // namespace wip::vusrp::fpga
