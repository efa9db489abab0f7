// SPDX-License-Identifier: GPL-3.0-or-later
// Bearers of the built-in profiles, with nothing else set, moved on, and packets for them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "umts/bearer.h"

namespace wip::umts {

inline bearer_config of_profile(const char* name) {
    bearer_config c;
    c.profile = *find_bearer_profile(name);
    return c;
}

// Advances a bearer from one wake-up to the next, up to t.
inline void run_to(bearer& b, std::int64_t t) {
    while (b.next_wakeup() <= t) b.advance(b.next_wakeup());
    b.advance(t);
}

inline std::vector<std::uint8_t> packet(int bytes) {
    return std::vector<std::uint8_t>(static_cast<std::size_t>(bytes), 0x45);
}

}  // namespace wip::umts
