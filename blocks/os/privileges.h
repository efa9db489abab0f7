// SPDX-License-Identifier: GPL-3.0-or-later
// Giving up being root, for good.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

namespace wip::os {

struct account {
    uid_t uid;
    gid_t gid;
    std::string name;
};
// `nobody`: a user that stands for all who have none, so that its processes do not belong together.
inline constexpr uid_t overflow_user = 65534;
// nullopt when there is no such user.
std::optional<account> find_account(const std::string& name);

// No new privileges through exec, and an empty bounding set: in this thread and in all made later,
// so call it before the first one. What the process holds it keeps until drop_privileges.
void forbid_new_privileges();
// Become `a` for good, in all threads: supplementary groups, group, user, and with the user the
// capabilities but those of `keep` (linux/capability.h), in this thread and those made later. As a
// user other than root only what that user holds is given up. Throws machine_error.
void drop_privileges(const account& a, const std::vector<int>& keep = {});
// The files of the sockets, which this process has made, go to the user that it becomes; their
// folder must let it pass. No link is followed, and nothing but a socket of this process's own user
// is handed over. An empty path is that of an endpoint without one. Throws machine_error.
void hand_over(const std::vector<std::string>& paths, const account& a);

}  // namespace wip::os
