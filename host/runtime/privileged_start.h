// SPDX-License-Identifier: GPL-3.0-or-later
// The first moments of a process that has to be root for its interfaces and must not be when it
// reads from outside:
//
//   privileged_start start(settings, user);   before anything is made
//   ... interfaces, sockets ...
//   start.give_up(paths of the sockets);      before anything is read
#pragma once

#include <string>
#include <vector>

#include "config/schema.h"
#include "runtime/process.h"

namespace wip::host {

// Becomes `user` for good if the process is root's and a user is named. For programs that only
// check their configuration; others start by privileged_start. Throws config::error when there is
// no such user.
void become(const config::settings& settings, const std::string& user);

class privileged_start {
public:
    // Blocks the signals that end the process, ties it to its parent, makes files for nobody else.
    // Without a user it stays what it is. Throws config::error when there is no such user.
    privileged_start(const config::settings& settings, const std::string& user);

    int signals() const { return signals_; }  // descriptor from which signals are read
    // The account that give_up() becomes, if any.
    const std::optional<account>& becomes() const { return account_; }
    // The sockets become the user's, and so does the process, with the capabilities of `keep`.
    void give_up(const std::vector<std::string>& bound_paths,
                 const std::vector<int>& keep = {}) const;

private:
    std::optional<account> account_;
    int signals_;
};

}  // namespace wip::host
