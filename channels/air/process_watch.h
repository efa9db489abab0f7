// SPDX-License-Identifier: GPL-3.0-or-later
// Tells whether another process is still alive. A pidfd becomes readable when the process ends,
// also while it is a zombie that nobody has reaped, and it cannot be confused by a reused process
// number.
#pragma once

#include <cstdint>

namespace wip::air {

class process_watch {
public:
    process_watch() = default;
    explicit process_watch(std::int64_t process);
    ~process_watch();
    process_watch(process_watch&& other) noexcept;
    process_watch& operator=(process_watch&& other) noexcept;
    bool alive() const noexcept;

private:
    int fd_ = -1;
    bool self_ = false;  // the process is this one
};

}  // namespace wip::air
