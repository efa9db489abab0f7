// SPDX-License-Identifier: GPL-3.0-or-later
// Where a medium and those that use it meet: two files in a folder that belongs to one user, and in
// which nobody else can make, rename or remove anything.
//
//   NAME.socket   the medium listens here and hands its memory over (shared_air.h)
//   NAME.lock     the process that holds flock() on it has the name; it contains the process number
//
// The folder is /run/openwip-air for root. For any other user it is openwip-air in the folder that
// the login manager made (/run/user/UID), or /tmp/openwip-air-UID where there is none. It depends
// on the user alone, not on the environment, so that any two programs of a user find each other.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

#include "types/descriptor.h"

namespace wip::air {

std::string meeting_folder(uid_t user);
std::string socket_of(uid_t user, const std::string& name);

// The name of a medium, held from the constructor to the destructor.
class held_name {
public:
    // Throws machine_error when another process holds it, or the folder cannot be used.
    explicit held_name(const std::string& name);
    ~held_name();
    held_name(const held_name&) = delete;
    held_name& operator=(const held_name&) = delete;

    // The process that held the name last was killed. What it had left is removed.
    bool cleaned() const noexcept { return cleaned_; }
    // A socket that listens at the name, for this user and root; with `group` also for that group.
    descriptor listen(std::optional<gid_t> group);

private:
    std::string name_, path_;
    descriptor folder_, lock_;
    bool cleaned_ = false;
};

// Connects to the medium of that name: this user's own, else root's. A process of any other user at
// the other end is refused. Returns an invalid descriptor when there is no such medium.
descriptor meet(const std::string& name);

}  // namespace wip::air
