// SPDX-License-Identifier: GPL-3.0-or-later
// The networks between which a terminal moves, and what moves it (handover.h). The texts in which
// people write them:
//
//   networks   NAME[:STATE[+STATE...]],...  with STATE DOWN/UP/DELAY: kbit/s, kbit/s, ms one way.
//              WLAN, UMTS and GPRS without a state have the values of Teyeb (2006), table 7.1
//   place      NAME or NAME.N: a network, in its first or Nth state
//   plan       WHEN@PLACE,...  with WHEN such as 30s (seconds since the start) or 524288B (bytes of
//              the applications that have been delivered to the terminals), or 524288B+0.001s, that
//              much later
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "types/setting_limits.h"

namespace wip::hetnet {

// One condition of a network: both directions of its lines.
struct network_state {
    double down_kbps = 0, up_kbps = 0, one_way_ms = 0;
    bool operator==(const network_state&) const = default;
};

struct network {
    std::string name;
    std::vector<network_state> states;
    bool operator==(const network&) const = default;
};

// A network and its state, counted from 0.
struct place {
    int network = 0, state = 0;
    bool operator==(const place&) const = default;
};

struct planned_move {
    enum class unit : std::uint8_t { ns, bytes };
    unit of = unit::ns;
    std::int64_t at = 0;
    place to;
    std::int64_t later_ns = 0;  // for unit::bytes: time from their delivery to the move
    bool operator==(const planned_move&) const = default;
};

// The treatment of packets: those on the way when a handover begins, and those that come during it.
enum class buffering : std::uint8_t {
    none,          // both are dropped
    intermediate,  // the first are dropped, the second wait
    full           // both wait
};

inline constexpr int most_networks = 8, most_states = 8, most_planned = 1000;

struct handover_config {
    std::vector<network> networks;
    place first;
    buffering keep = buffering::intermediate;
    double delay_s = setting::hetnet_delay_s.initial;
    std::vector<planned_move> plan;
    // The Markov chain of two layers: whenever a timer fires, a row of a matrix decides where the
    // terminal is next. 0: it never fires. No matrix: each network, each state is equally likely.
    double network_timer_s = 0, state_timer_ms = 0;
    std::vector<std::vector<double>> network_chain;              // chain of all networks
    std::vector<std::vector<std::vector<double>>> state_chains;  // chain of each network's states
    // Most that may wait or be on its way in each direction, 10^6 bytes, as in
    // packet_model::wired_config.
    double held_mb = setting::hetnet_held_mb.initial;
    std::uint64_t seed = 1;

    void check() const;  // throws std::invalid_argument naming key, value and what would be valid
};

// These functions read such texts. They throw std::invalid_argument whose text says what would be
// valid.
std::vector<network> networks_of(std::string_view text);
place place_of(std::string_view text, const std::vector<network>& networks);
std::vector<planned_move> plan_of(std::string_view text, const std::vector<network>& networks);
// The rows of a matrix from its numbers one after another; none for no numbers.
std::vector<std::vector<double>> matrix_of(const std::vector<double>& numbers, std::size_t order);
// The matrices of the states of each network, one after another.
std::vector<std::vector<std::vector<double>>> state_chains_of(const std::vector<double>& numbers,
                                                              const std::vector<network>& networks);

// The parts of check() for the two chains. They throw std::invalid_argument as it does.
void check_network_chain(const handover_config& c);
void check_state_chains(const handover_config& c);

// The text that place_of() reads as this place.
std::string text_of(const place& where, const std::vector<network>& networks);

}  // namespace wip::hetnet
