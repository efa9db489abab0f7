// SPDX-License-Identifier: GPL-3.0-or-later
// The kinds of failure, by whose fault they are: each kind has one type, and a program ends with
// its exit code (host/config/exit_code.h). The layers that know no file and no key throw
// std::invalid_argument for an argument; a condition that only a bug causes is a std::logic_error.
#pragma once

#include <stdexcept>
#include <string>
#include <system_error>

#include "types/one_line.h"

namespace wip {

// The request is not valid, or cannot be met here: a setting, an option, a file, a right. The text
// is one line: place, value, and what would be valid.
class bad_input : public std::runtime_error {
public:
    explicit bad_input(const std::string& what) : std::runtime_error(one_line(what)) {}
};

// This computer does not do what it can be asked for: its kernel, its disk, its radio.
class machine_error : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
    // The failure of a call that sets errno.
    machine_error(const std::string& what, int error)
        : std::runtime_error(what + ": " + std::generic_category().message(error)) {}
};

// Somebody else whom this process needs is gone, or says what is no word of the protocol.
class peer_error : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

}  // namespace wip
