// SPDX-License-Identifier: GPL-3.0-or-later
#include "flow/plan.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "flow/schema_check.h"

namespace wip::flow {
namespace {

using texts = std::vector<std::string>;

std::vector<std::pair<std::string, std::string>> pairs_of(const json& from, const char* name) {
    std::vector<std::pair<std::string, std::string>> found;
    if (from.contains(name))
        for (const auto& [key, value] : from.at(name).items()) found.emplace_back(key, value);
    return found;
}

flow flow_of(const json& from, int number) {
    flow f;
    f.kind = from.at("kind");
    f.given = from;
    f.number = number;
    f.from = from.at("from");
    f.to = from.value("to", f.from);
    if (from.contains("start_s")) f.start_s = from.at("start_s").get<double>();
    for (const auto& [name, value] :
         {std::pair{"seconds", &f.seconds}, std::pair{"measured_from_s", &f.measured_from_s},
          std::pair{"limit_s", &f.limit_s}, std::pair{"think_s", &f.think_s},
          std::pair{"interval_s", &f.interval_s}, std::pair{"packets_per_s", &f.packets_per_s},
          std::pair{"page_s", &f.page_s}, std::pair{"object_s", &f.object_s},
          std::pair{"object_packets", &f.object_packets},
          std::pair{"pareto_shape", &f.pareto_shape}})
        *value = from.value(name, 0.0);
    for (const auto& [name, value] : {std::pair{"bytes", &f.bytes}, std::pair{"seed", &f.seed},
                                      std::pair{"request_bytes", &f.request_bytes},
                                      std::pair{"response_bytes", &f.response_bytes},
                                      std::pair{"packet_bytes", &f.packet_bytes}})
        *value = from.value(name, std::uint64_t{0});
    f.visit_pages = from.value("visit_pages", 0);
    f.page_objects = from.value("page_objects", 0);
    f.pareto_scale = from.value("pareto_scale", "mean") == "least" ? scale::least : scale::mean;
    f.congestion_control = from.value("congestion_control", "");
    f.buffer_kb = from.value("buffer_kb", 0);
    f.whole = from.value("whole", false);
    f.kernel_times = from.value("kernel_times", false);
    f.command = from.value("command", texts{});
    if (from.contains("files"))
        for (const json& file : from.at("files"))
            f.files.push_back({file.at("bytes").get<std::uint64_t>(), file.at("times").get<int>()});
    return f;
}

std::vector<command> commands_of(const json& from, const char* name) {
    std::vector<command> found;
    if (from.contains(name))
        for (const json& c : from.at(name))
            found.push_back({c.at("side").get<int>(), c.at("command").get<texts>(),
                             c.value("input", std::string())});
    return found;
}

void require_side(int side, std::size_t sides, const std::string& place) {
    if (static_cast<std::size_t>(side) >= sides)
        throw std::invalid_argument(place + " is " + std::to_string(side) + "; valid: 0.." +
                                    std::to_string(sides - 1));
}

void require_sides(const plan& p, std::size_t sides) {
    for (const flow& f : p.flows) {
        const std::string place = "flows[" + std::to_string(f.number) + "].";
        require_side(f.from, sides, place + "from");
        require_side(f.to, sides, place + "to");
    }
    for (const auto* list : {&p.programs, &p.afterwards})
        for (const command& c : *list) require_side(c.side, sides, "a program's side");
    if (p.proxy) {
        require_side(p.proxy->listens, sides, "between.listens");
        require_side(p.proxy->connects, sides, "between.connects");
    }
}

}  // namespace

int flow::packets() const {
    // A duration is a number of intervals, but for rounding.
    return std::max(1, static_cast<int>(std::ceil(seconds / interval_s - 1e-6)));
}

double flow::connect_for() const { return std::max(connect_s, measured_from_s); }

plan read_plan(std::string_view text, std::size_t sides) {
    json given;
    try {
        given = json::parse(text);
    } catch (const json::parse_error& e) {
        throw std::invalid_argument("the plan of the traffic flows is not valid JSON: " +
                                    std::string(e.what()));
    }
    const json schema = json::parse(schema_text);
    schema_check(schema).check(given, "plan");
    plan p;
    p.sides = given.value("sides", texts{});
    p.port = given.at("port");
    p.window_bytes = given.at("window_bytes");
    if (given.contains("seed")) p.seed = given.at("seed").get<std::uint64_t>();
    p.sysctls = pairs_of(given, "sysctls");
    p.attributes = pairs_of(given, "attributes");
    p.programs = commands_of(given, "programs");
    p.afterwards = commands_of(given, "afterwards");
    if (given.contains("between")) {
        const json& b = given.at("between");
        p.proxy = {b.at("listens").get<int>(), b.at("connects").get<int>(),
                   b.at("command").get<texts>()};
    }
    for (const json& f : given.at("flows"))
        p.flows.push_back(flow_of(f, static_cast<int>(p.flows.size())));
    require_sides(p, sides > 0 ? sides : p.sides.size());
    return p;
}

}  // namespace wip::flow
