// SPDX-License-Identifier: GPL-3.0-or-later
// The counts of the damaged path, except the interfaces' part.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>

#include "schema/control.pb.h"
#include "tcpl/damaged_path.h"

namespace wip::tcpl {

void fill(const damaged_path& path, openwip::control::PathStatus& status);

// A run whose time is kept by a calendar.
struct calendar_run {
    // packets delivered to the sender and to the receiver
    std::array<packets_bytes, 2> delivered{};
    // packets that the interfaces did not take, by errno
    std::array<std::map<int, packets_bytes>, 2> refused{};
    std::uint64_t steps = 0;
    std::int64_t ended_ns = 0;
    double wall_s = 0;
};

// The path's counts, and how the run went.
nlohmann::json result_of(const damaged_path& path, const calendar_run& run);

}  // namespace wip::tcpl
