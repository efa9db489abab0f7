// SPDX-License-Identifier: GPL-3.0-or-later
#include "runtime/ending.h"

#include <spdlog/spdlog.h>

#include "runtime/process.h"

namespace wip::host {

void ending::set(const stop_reason& why) {
    if (reached_) return;
    reached_ = true;
    code_ = exit_code_of(why.cause);
    spdlog::log(code_ == exit_asked ? spdlog::level::info : spdlog::level::err, "{}: ends: {}",
                name_, why.words);
    if (last_) last_(why);
}

bool ending::signalled(int fd) {
    const auto signal = take_signal(fd);
    if (!signal) return false;
    set(reason_to_stop().after(*signal));
    return true;
}

}  // namespace wip::host
