// SPDX-License-Identifier: GPL-3.0-or-later
// Dropping the privileges of root, for good.
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
// The user `nobody`, which the kernel shows for users that have no number in a namespace: its
// processes may belong to different users.
inline constexpr uid_t overflow_user = 65534;
// nullopt when there is no such user.
std::optional<account> find_account(const std::string& name);

// No new privileges through exec, and an empty bounding set: in this thread and in all made later,
// so call it before the first one. The process keeps the capabilities that it has until
// drop_privileges().
void forbid_new_privileges();
// Become `a` for good, in all threads: supplementary groups, group, user, and with the user the
// capabilities but those of `keep` (linux/capability.h), in this thread and those made later. If
// the process is not root, it only drops the capabilities that it has. Throws machine_error.
void drop_privileges(const account& a, const std::vector<int>& keep = {});
// Gives the files of the sockets that this process has made to the user that it becomes, who needs
// the right to enter their folder. No link is followed, and nothing but a socket of this process's
// own user is handed over. An empty path is that of an endpoint without one. Throws machine_error.
void hand_over(const std::vector<std::string>& paths, const account& a);

}  // namespace wip::os
