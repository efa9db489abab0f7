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
    std::array<packets_bytes, 2> delivered{};               // to the sender, to the receiver
    std::array<std::map<int, packets_bytes>, 2> refused{};  // by errno, what they did not take
    std::uint64_t steps = 0;
    std::int64_t ended_ns = 0;
    double wall_s = 0;
};

// The path's counts, and how the run went.
nlohmann::json result_of(const damaged_path& path, const calendar_run& run);

}  // namespace wip::tcpl
