// SPDX-License-Identifier: GPL-3.0-or-later
// Whether an attempt to send a frame over one hop fails. Asked once for each attempt, in the order
// of time; channels/packet has the models.
#pragma once

#include <cstdint>
#include <memory>

namespace wip {

class attempt_errors {
public:
    attempt_errors() = default;
    attempt_errors(const attempt_errors&) = delete;
    attempt_errors& operator=(const attempt_errors&) = delete;
    virtual ~attempt_errors() = default;

    // Tells whether the attempt that begins at `at_ns` fails; `at_ns` never goes back.
    virtual bool fails(std::int64_t at_ns) = 0;
};

}  // namespace wip
