// SPDX-License-Identifier: GPL-3.0-or-later
#include "handover/handover_config.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <stdexcept>

#include "types/number_text.h"
#include "types/require.h"

namespace wip::hetnet {
namespace {

constexpr double most_bytes = 1e15, most_seconds = 1e6;
constexpr std::size_t longest_name = 16;

struct known_network {
    std::string_view name;
    network_state state;
};
// Teyeb (2006), table 7.1.
constexpr std::array<known_network, 3> known_networks{
    {{"WLAN", {1000, 64, 5}}, {"UMTS", {384, 32, 75}}, {"GPRS", {32, 32, 350}}}};

[[noreturn]] void refuse_text(std::string_view item, const std::string& valid) {
    throw std::invalid_argument(
        not_valid("a part of it", "'" + std::string(item.substr(0, 60)) + "'", valid));
}

std::vector<std::string_view> parts_of(std::string_view text, char between) {
    std::vector<std::string_view> parts;
    for (;;) {
        const auto at = text.find(between);
        parts.push_back(text.substr(0, at));
        if (at == std::string_view::npos) return parts;
        text.remove_prefix(at + 1);
    }
}

bool is_name(std::string_view text) {
    return !text.empty() && text.size() <= longest_name && text != "first" &&
           std::ranges::all_of(text, [](char c) {
               return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                      c == '-' || c == '_';
           });
}

bool is_within(double value, const setting_limits<double>& limits, double least) {
    return value >= least && value <= limits.high;
}

bool is_valid(const network_state& s) {
    const auto& rate = setting::to_base_rate_kbps;
    return is_within(s.down_kbps, rate, rate.least) && is_within(s.up_kbps, rate, rate.least) &&
           is_within(s.one_way_ms, setting::to_base_delay_ms, 0);
}

network_state state_of(std::string_view text) {
    const auto numbers = parts_of(text, '/');
    std::array<double, 3> value{};
    bool ok = numbers.size() == value.size();
    for (std::size_t i = 0; ok && i < value.size(); ++i) {
        const auto number = read_setting<double>(numbers[i]);
        ok = number.has_value();
        value[i] = number.value_or(0);
    }
    const network_state s{value[0], value[1], value[2]};
    if (!ok || !is_valid(s))
        refuse_text(text, "DOWN/UP/DELAY, two rates of 1..1e7 kbit/s and 0..60000 ms one way");
    return s;
}

network network_of(std::string_view item) {
    const auto colon = item.find(':');
    network n{std::string(item.substr(0, colon)), {}};
    if (!is_name(n.name))
        refuse_text(item,
                    "NAME or NAME:DOWN/UP/DELAY, the name 1 to 16 letters, digits, - and _ and "
                    "not first");
    if (colon == std::string_view::npos) {
        const auto* at = std::ranges::find(known_networks, n.name, &known_network::name);
        if (at == known_networks.end())
            refuse_text(
                item,
                "WLAN, UMTS, GPRS, or a name with rates and a delay, such as lab:2000/500/20");
        n.states.push_back(at->state);
        return n;
    }
    for (const auto state : parts_of(item.substr(colon + 1), '+'))
        n.states.push_back(state_of(state));
    if (n.states.size() > most_states)
        refuse_text(item, "up to " + std::to_string(most_states) + " states separated by +");
    return n;
}

std::string names_of(const std::vector<network>& networks) {
    std::string all;
    for (const auto& n : networks) all += (all.empty() ? "" : ", ") + n.name;
    return all;
}

// A positive number with its unit; nullopt for any other text.
std::optional<double> amount_of(std::string_view text, char unit, double most) {
    if (text.empty() || text.back() != unit) return std::nullopt;
    const auto number = read_setting<double>(text.substr(0, text.size() - 1));
    return number && *number > 0 && *number <= most ? number : std::nullopt;
}

planned_move move_of(std::string_view item, const std::vector<network>& networks) {
    using unit = planned_move::unit;
    const auto at = item.find('@');
    const std::string_view when = item.substr(0, at);
    const auto plus = when.find('+');
    const auto seconds = amount_of(when, 's', most_seconds);
    const auto bytes = amount_of(when.substr(0, plus), 'B', most_bytes);
    std::optional<double> later = 0;
    if (plus != std::string_view::npos) later = amount_of(when.substr(plus + 1), 's', most_seconds);
    planned_move m;
    if (at != std::string_view::npos && bytes && *bytes == std::floor(*bytes) && later) {
        m = {unit::bytes, std::llround(*bytes), {}, std::llround(*later * 1e9)};
    } else if (at != std::string_view::npos && seconds && plus == std::string_view::npos) {
        m.at = std::llround(*seconds * 1e9);
    } else {
        refuse_text(item,
                    "WHEN@NETWORK with WHEN such as 30s (up to 1e6), 524288B (up to 1e15) or "
                    "524288B+0.001s");
    }
    m.to = place_of(item.substr(at + 1), networks);
    return m;
}

void check_rows(const std::vector<std::vector<double>>& matrix, std::size_t order) {
    if (matrix.size() != order)
        throw std::invalid_argument(
            not_valid("the number of rows of a transition matrix", std::to_string(matrix.size()),
                      std::to_string(order) + ", one for each network or state"));
    for (const auto& row : matrix) {
        double sum = 0;
        bool in_range = row.size() == order;
        for (const double p : row) {
            in_range = in_range && p >= 0 && p <= 1;
            sum += p;
        }
        if (!in_range || std::abs(sum - 1) > 1e-6)
            throw std::invalid_argument(
                not_valid("a row of a transition matrix",
                          std::to_string(row.size()) + " numbers whose sum is " + wip::text_of(sum),
                          std::to_string(order) + " probabilities 0..1 whose sum is 1"));
    }
}

void check_place(std::string_view key, const place& p, const std::vector<network>& networks) {
    check_range(std::string(key) + " (number of the network)", p.network, 0,
                static_cast<double>(networks.size()) - 1);
    const auto& states = networks[static_cast<std::size_t>(p.network)].states;
    check_range(std::string(key) + " (number of the state)", p.state, 0,
                static_cast<double>(states.size()) - 1);
}

}  // namespace

std::vector<network> networks_of(std::string_view text) {
    std::vector<network> all;
    for (const auto item : parts_of(text, ',')) {
        network n = network_of(item);
        if (std::ranges::find(all, n.name, &network::name) != all.end())
            refuse_text(item, "each name once");
        all.push_back(std::move(n));
    }
    if (all.size() > most_networks)
        refuse_text(text, "up to " + std::to_string(most_networks) + " networks");
    return all;
}

place place_of(std::string_view text, const std::vector<network>& networks) {
    const auto dot = text.find('.');
    const auto at = std::ranges::find(networks, text.substr(0, dot), &network::name);
    if (at == networks.end())
        refuse_text(text, names_of(networks) + ", or one of them with .N for its Nth state");
    place p{static_cast<int>(at - networks.begin()), 0};
    if (dot == std::string_view::npos) return p;
    const auto state = read_setting<int>(text.substr(dot + 1));
    if (!state || *state < 1 || *state > static_cast<int>(at->states.size()))
        refuse_text(text, at->name + ".1 to " + at->name + '.' + std::to_string(at->states.size()));
    p.state = *state - 1;
    return p;
}

std::vector<planned_move> plan_of(std::string_view text, const std::vector<network>& networks) {
    std::vector<planned_move> plan;
    if (text.empty()) return plan;
    for (const auto item : parts_of(text, ',')) {
        const planned_move m = move_of(item, networks);
        for (const auto& before : plan)
            if (before.of == m.of && before.at >= m.at)
                refuse_text(item, "each later than those before it with the same unit");
        plan.push_back(m);
    }
    if (plan.size() > most_planned)
        refuse_text(text, "up to " + std::to_string(most_planned) + " moves");
    return plan;
}

std::vector<std::vector<double>> matrix_of(const std::vector<double>& numbers, std::size_t order) {
    if (numbers.empty()) return {};
    if (numbers.size() != order * order)
        throw std::invalid_argument(
            not_valid("the number of probabilities", std::to_string(numbers.size()),
                      std::to_string(order * order) + ", a transition matrix of " +
                          std::to_string(order) + " rows of " + std::to_string(order)));
    std::vector<std::vector<double>> rows;
    for (auto at = numbers.begin(); at != numbers.end(); at += static_cast<std::ptrdiff_t>(order))
        rows.emplace_back(at, at + static_cast<std::ptrdiff_t>(order));
    return rows;
}

std::vector<std::vector<std::vector<double>>> state_chains_of(
    const std::vector<double>& numbers, const std::vector<network>& networks) {
    if (numbers.empty()) return {};
    std::size_t all = 0;
    for (const auto& n : networks) all += n.states.size() * n.states.size();
    if (numbers.size() != all)
        throw std::invalid_argument(
            not_valid("the number of probabilities", std::to_string(numbers.size()),
                      std::to_string(all) +
                          ", the rows of a transition matrix of the states of each network"));
    std::vector<std::vector<std::vector<double>>> chains;
    auto at = numbers.begin();
    for (const auto& n : networks) {
        const auto size = static_cast<std::ptrdiff_t>(n.states.size() * n.states.size());
        chains.push_back(matrix_of({at, at + size}, n.states.size()));
        at += size;
    }
    return chains;
}

void check_network_chain(const handover_config& c) {
    if (!c.network_chain.empty()) check_rows(c.network_chain, c.networks.size());
}

void check_state_chains(const handover_config& c) {
    if (c.state_chains.empty()) return;
    if (c.state_chains.size() != c.networks.size())
        throw std::invalid_argument(not_valid(
            "the number of transition matrices of states", std::to_string(c.state_chains.size()),
            std::to_string(c.networks.size()) + ", one for each network"));
    for (std::size_t n = 0; n < c.networks.size(); ++n)
        check_rows(c.state_chains[n], c.networks[n].states.size());
}

std::string text_of(const place& where, const std::vector<network>& networks) {
    const auto& n = networks[static_cast<std::size_t>(where.network)];
    return where.state == 0 ? n.name : n.name + '.' + std::to_string(where.state + 1);
}

void handover_config::check() const {
    if (networks.empty() || networks.size() > most_networks)
        refuse("the number of hetnet.networks", std::to_string(networks.size()),
               "1.." + std::to_string(most_networks));
    for (const auto& n : networks) {
        if (n.states.empty() || n.states.size() > most_states)
            refuse("the number of states of " + n.name + " in hetnet.networks",
                   std::to_string(n.states.size()), "1.." + std::to_string(most_states));
        for (const auto& s : n.states)
            if (!is_valid(s))
                refuse("a state of " + n.name + " in hetnet.networks",
                       wip::text_of(s.down_kbps) + '/' + wip::text_of(s.up_kbps) + '/' +
                           wip::text_of(s.one_way_ms),
                       "rates of 1..1e7 kbit/s and a delay of 0..60000 ms");
    }
    check_place("hetnet.network", first, networks);
    for (const auto& m : plan) check_place("hetnet.plan", m.to, networks);
    check_range(delay_s, setting::hetnet_delay_s);
    check_range(network_timer_s, setting::hetnet_network_timer_s);
    check_range(state_timer_ms, setting::hetnet_state_timer_ms);
    check_range(held_mb, setting::hetnet_held_mb);
    check_network_chain(*this);
    check_state_chains(*this);
}

}  // namespace wip::hetnet
