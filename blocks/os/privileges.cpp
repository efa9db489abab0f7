// SPDX-License-Identifier: GPL-3.0-or-later
#include "os/privileges.h"

#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <pwd.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "types/descriptor.h"
#include "types/failure.h"

namespace wip::os {
namespace {

[[noreturn]] void fail(const std::string& what) { throw machine_error(what, errno); }

}  // namespace

std::optional<account> find_account(const std::string& name) {
    const passwd* p = getpwnam(name.c_str());
    if (p == nullptr) return std::nullopt;
    return account{p->pw_uid, p->pw_gid, name};
}

void forbid_new_privileges() {
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        fail("cannot forbid new privileges (PR_SET_NO_NEW_PRIVS)");
    // Needs CAP_SETPCAP; without that right there is nothing to lose.
    for (int cap = 0; cap <= 63; ++cap) prctl(PR_CAPBSET_DROP, cap, 0, 0, 0);
}

void drop_privileges(const account& a, const std::vector<int>& keep) {
    if (!keep.empty() && prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) != 0)
        fail("cannot keep capabilities (PR_SET_KEEPCAPS)");
    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
    if (::geteuid() == 0) {
        if (a.uid != 0) {
            if (::setgroups(0, nullptr) != 0) fail("cannot leave the groups of root (setgroups)");
            // glibc carries these to all threads, and with them the loss of the capabilities.
            if (::setresgid(a.gid, a.gid, a.gid) != 0)
                fail("cannot take the group of user " + a.name);
            if (::setresuid(a.uid, a.uid, a.uid) != 0) fail("cannot become user " + a.name);
            if (::setuid(0) == 0)
                throw machine_error("the process could become root again after it became user " +
                                    a.name);
        }
    }
    if (::geteuid() == 0) return;  // `user: root`: keeps what root has
    __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
    __user_cap_data_struct kept[2]{};
    for (const int cap : keep) {
        auto& word = kept[CAP_TO_INDEX(cap)];
        word.effective |= CAP_TO_MASK(cap);
        word.permitted |= CAP_TO_MASK(cap);
    }
    if (::syscall(SYS_capset, &header, kept) != 0) fail("cannot set its capabilities (capset)");
}

void hand_over(const std::vector<std::string>& paths, const account& a) {
    if (::geteuid() != 0) return;
    for (const auto& path : paths) {
        if (path.empty()) continue;
        const descriptor file(::open(path.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
        struct stat found {};
        if (!file.valid() || ::fstat(file.get(), &found) != 0)
            fail(path + ": cannot be given to user " + a.name);
        if (!S_ISSOCK(found.st_mode) || found.st_uid != ::geteuid())
            throw machine_error(path + ": cannot be given to user " + a.name +
                                ": it is no socket of this process's user");
        if (::fchownat(file.get(), "", a.uid, a.gid, AT_EMPTY_PATH) != 0)
            fail(path + ": cannot be given to user " + a.name);
    }
}

}  // namespace wip::os
