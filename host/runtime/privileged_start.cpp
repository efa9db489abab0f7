// SPDX-License-Identifier: GPL-3.0-or-later
#include "runtime/privileged_start.h"

#include <sys/stat.h>
#include <unistd.h>

namespace wip::host {
namespace {

std::optional<account> known(const config::settings& settings, const std::string& user) {
    if (user.empty()) return std::nullopt;
    const auto found = find_account(user);
    if (!found) throw settings.not_valid("user", "an account of this computer");
    return found;
}

}  // namespace

void become(const config::settings& settings, const std::string& user) {
    const auto found = ::geteuid() == 0 ? known(settings, user) : std::nullopt;
    if (!found) return;
    forbid_new_privileges();
    drop_privileges(*found);
}

privileged_start::privileged_start(const config::settings& settings, const std::string& user)
    : account_(known(settings, user)), signals_(make_signal_descriptor()) {
    follow_parent();
    forbid_new_privileges();
    ::umask(0077);
}

void privileged_start::give_up(const std::vector<std::string>& bound_paths,
                               const std::vector<int>& keep) const {
    if (!account_) return;
    hand_over(bound_paths, *account_);
    drop_privileges(*account_, keep);
    follow_parent();  // changing the user has cleared the signal at the parent's death
}

}  // namespace wip::host
