// SPDX-License-Identifier: GPL-3.0-or-later
// What the operating system does to and for this process: signals as a descriptor, the parent's
// death, the reason left in $OPENWIP_RUN/why, and giving up privileges.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

namespace wip::host {

inline constexpr int exit_asked = 0;
inline constexpr int exit_bad_input = 2;  // configuration, permissions, versions
inline constexpr int exit_peer_lost = 3;  // something this process depends on died

// Blocks SIGTERM, SIGINT and SIGHUP in this thread (threads made later inherit it) and returns a
// descriptor that they are read from.
int make_signal_descriptor();
// Name of the signal that was waiting, if any.
std::optional<std::string> take_signal(int descriptor);

// With $OPENWIP_RUN set, the parent's death becomes SIGTERM. The setting is lost when the user
// changes, so call it again after drop_privileges.
void follow_parent();

// First line of $OPENWIP_RUN/why, or "asked to stop".
std::string reason_to_stop();

// A reason that tells of a failure, by its words ("died", "killed", "silent", ...), ends in 3.
int exit_code_of(const std::string& why);

struct account {
    uid_t uid;
    gid_t gid;
    std::string name;
};
// nullopt when there is no such user.
std::optional<account> find_account(const std::string& name);

// So that a busy machine does not keep this thread waiting; threads made later do not inherit it.
// The kernel may refuse (containers): the reports say which it was.
bool ask_for_realtime_priority() noexcept;

// No new privileges through exec, and an empty bounding set: in this thread and in all made later,
// so call it before the first one. What the process holds it keeps until drop_privileges.
void forbid_new_privileges();
// Become `a` for good, in all threads: supplementary groups, group, user, and with the user the
// capabilities. As a user other than root only what that user holds is given up. Throws
// std::runtime_error.
void drop_privileges(const account& a);
// The files of the sockets go to the user that this process becomes; their folder must let it pass.
// Throws std::runtime_error.
void hand_over(const std::vector<std::string>& paths, const account& a);

}  // namespace wip::host
