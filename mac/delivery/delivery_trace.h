// SPDX-License-Identifier: GPL-3.0-or-later
// The record of how a network delivered packets in one direction, as other programs write it:
//
//   opportunities  Mahimahi's packet delivery opportunities: each line is the millisecond of a
//                  chance to deliver 1500 bytes; the last line is also the period
//   trains         CellReplay's base delay and light load: each line has a millisecond, the delay
//                  of a packet that comes then, and perhaps the opportunities of the packets right
//                  behind it, in milliseconds after the first; the last line is the period
//
// The text is not trusted: every number is checked against its range, and the error for a wrong
// line gives the number of the line.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace wip::delivery {

inline constexpr int opportunity_bytes = 1500;
inline constexpr std::int64_t latest_ms = std::int64_t{7} * 24 * 3600 * 1000;
inline constexpr double longest_delay_ms = 60'000;
inline constexpr std::size_t most_lines = 20'000'000, most_in_train = 10'000;

// A line of a trace of trains: it holds for a train of packets whose first one comes at `at_ms`.
struct train {
    std::int64_t at_ms = 0;
    double delay_ms = 0;                 // CellReplay itself writes whole milliseconds
    std::vector<std::int64_t> after_ms;  // opportunities after the train's first packet
    bool operator==(const train&) const = default;
};

struct delivery_trace {
    // Ascending, equal ones allowed; the last one is above 0.
    std::vector<std::int64_t> opportunities_ms;
    // By ascending at_ms, equal ones allowed; the last one is above the first.
    std::vector<train> trains;
};

// Reads a trace of either kind: with one number in the first line it has opportunities, with
// several it has trains. Throws std::invalid_argument, which says the line and what is valid.
delivery_trace read_delivery_trace(std::string_view text);

}  // namespace wip::delivery
