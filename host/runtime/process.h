// SPDX-License-Identifier: GPL-3.0-or-later
// Services of the operating system for this process: signals as a descriptor, the parent's death,
// and dropping privileges.
#pragma once

#include <sys/types.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "config/exit_code.h"
#include "os/privileges.h"

namespace wip::host {

using config::exit_asked, config::exit_failed, config::exit_bad_input, config::exit_peer_lost;

// Blocks SIGTERM, SIGINT and SIGHUP in this thread (threads made later inherit it) and returns a
// descriptor that they are read from.
int make_signal_descriptor();
// Reads the name of the signal that was waiting, if any.
std::optional<std::string> take_signal(int descriptor);

// Has the kernel send SIGTERM when the parent ends, if $OPENWIP_RUN is set. This is lost when the
// user changes, so call it again after drop_privileges.
void follow_parent();

// Runs the process's work once it is up; returns its exit code. An exception that leaves it is no
// fault of the input any more: it is logged, and gives exit_peer_lost for a peer's, exit_failed for
// all others.
int run_to_its_end(const std::function<int()>& run) noexcept;

using os::account;
using os::drop_privileges;
using os::find_account;
using os::forbid_new_privileges;
using os::hand_over;

}  // namespace wip::host
