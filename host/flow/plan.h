// SPDX-License-Identifier: GPL-3.0-or-later
// The traffic of a run, and what is done around it: a plan, JSON of the form of flows.schema.json.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace wip::flow {

// seconds; a link on which connecting takes longer is too bad for a test
constexpr double connect_s = 6;
constexpr double drained_s = 2;    // seconds for the last packets of a flow over UDP
constexpr int arrival_parts = 50;  // parts of a file whose arrival times the receiver reports

struct file_set {
    std::uint64_t bytes = 0;
    int times = 1;
};

// Meaning of the scale of a Pareto distribution: its mean, or its least value.
enum class scale : std::uint8_t { mean, least };

// A member that a kind of flow does not have is 0 or empty.
struct flow {
    std::string kind;
    int number = 0;  // counted from 0
    int from = 0, to = 0;
    std::optional<double> start_s;  // without it the flow starts at once
    double seconds = 0, measured_from_s = 0, limit_s = 0, think_s = 0, interval_s = 0;
    std::uint64_t bytes = 0, seed = 0, request_bytes = 0, response_bytes = 0;
    std::string congestion_control;
    int buffer_kb = 0;
    bool whole = false, kernel_times = false;
    std::uint64_t packet_bytes = 0;                                         // telnet, http
    double packets_per_s = 0;                                               // telnet
    double page_s = 0, object_s = 0, object_packets = 0, pareto_shape = 0;  // http
    int visit_pages = 0, page_objects = 0;
    scale pareto_scale = scale::mean;
    std::vector<file_set> files;
    std::vector<std::string> command;
    nlohmann::ordered_json given;  // all of it, with the defaults of the schema

    // The packets of a flow over UDP.
    int packets() const;
    // Seconds after the start for which a connection is tried.
    double connect_for() const;
};

struct command {
    int side = 0;
    std::vector<std::string> words;
    std::string input;  // file
};

struct between {
    int listens = 0, connects = 0;
    std::vector<std::string> words;
};

struct plan {
    std::vector<std::string> sides;  // ADDRESS/PREFIX
    int port = 5001, window_bytes = 0;
    std::vector<flow> flows;
    std::optional<std::uint64_t> seed;
    std::vector<std::pair<std::string, std::string>> sysctls, attributes;
    std::vector<command> programs, afterwards;
    std::optional<wip::flow::between> proxy;
};

// `sides`: how many there are, if the plan does not say which. Throws std::invalid_argument.
plan read_plan(std::string_view text, std::size_t sides = 0);

}  // namespace wip::flow
