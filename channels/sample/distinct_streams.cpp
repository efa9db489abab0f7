// SPDX-License-Identifier: GPL-3.0-or-later
#include "sample/distinct_streams.h"

#include <string>

#include "types/failure.h"

namespace wip::sample_model {

void distinct_streams::add(const stream& s, std::uint32_t key) {
    const std::lock_guard lock(mutex_);
    const auto [place, is_new] = streams_.try_emplace(key, s);
    if (is_new || place->second == s) return;
    const std::string both = s.seed == place->second.seed ? std::to_string(s.seed)
                                                          : std::to_string(place->second.seed) +
                                                                " and " + std::to_string(s.seed);
    throw bad_input("seed is " + both +
                    ": two of this run's random streams would be the same; valid: another seed");
}

}  // namespace wip::sample_model
