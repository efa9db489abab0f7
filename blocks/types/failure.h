// SPDX-License-Identifier: GPL-3.0-or-later
// Whose failure it is: each kind has one type, and a program ends with its exit code
// (host/config/exit_code.h). The layers that know no file and no key say std::invalid_argument of
// an argument; what only a bug brings about is a std::logic_error.
#pragma once

#include <stdexcept>
#include <string>
#include <system_error>

#include "types/one_line.h"

namespace wip {

// What was asked for is not valid, or cannot be had here: a setting, an option, a file, a right.
// One line: place, value, and what would be valid.
class bad_input : public std::runtime_error {
public:
    explicit bad_input(const std::string& what) : std::runtime_error(one_line(what)) {}
};

// This computer does not do what it can be asked for: its kernel, its disk, its radio.
class machine_error : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
    // Of a call that sets errno.
    machine_error(const std::string& what, int error)
        : std::runtime_error(what + ": " + std::generic_category().message(error)) {}
};

// Somebody else whom this process needs is gone, or says what is no word of the protocol.
class peer_error : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

}  // namespace wip
