// SPDX-License-Identifier: GPL-3.0-or-later
// The end of a process: the first reason counts, is logged, and decides the exit code.
#pragma once

#include <functional>
#include <string>
#include <utility>

#include "runtime/stop_reason.h"

namespace wip::host {

class ending {
public:
    // `name` begins the line of the log. `last`: what is left to be done when the end has come; it
    // may be empty.
    explicit ending(std::string name, std::function<void(const stop_reason&)> last = {})
        : name_(std::move(name)), last_(std::move(last)) {}

    void set(const stop_reason& why);
    // Ends by the signal that waits at the descriptor, for the reason that its sender left
    // (stop_reason.h). False: there was none.
    bool signalled(int fd);
    bool reached() const { return reached_; }
    int code() const { return code_; }

private:
    std::string name_;
    std::function<void(const stop_reason&)> last_;
    bool reached_ = false;
    int code_ = 0;
};

}  // namespace wip::host
