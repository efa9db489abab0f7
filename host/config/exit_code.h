// SPDX-License-Identifier: GPL-3.0-or-later
// The exit codes of processes.
#pragma once

#include <exception>

#include "types/failure.h"

namespace wip::config {

inline constexpr int exit_asked = 0;
inline constexpr int exit_failed = 1;     // a fault of its own or of the machine
inline constexpr int exit_bad_input = 2;  // configuration, command line, permissions, versions
inline constexpr int exit_peer_lost = 3;  // something this process depends on died

template <class Kind>
bool is(const std::exception& e) {
    return dynamic_cast<const Kind*>(&e) != nullptr;
}

inline int exit_code_of(const std::exception& e) {
    if (is<bad_input>(e) || is<std::invalid_argument>(e)) return exit_bad_input;
    return is<peer_error>(e) ? exit_peer_lost : exit_failed;
}

}  // namespace wip::config
