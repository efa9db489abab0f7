// SPDX-License-Identifier: GPL-3.0-or-later
// Delay profiles by name or from a file:
//
//   name: tdl-a
//   source: where the numbers come from
//   delay_spread_ns: 30        # only with normalised delays: used unless another is asked for
//   taps:
//     - {delay_ns: 200, power_db: -7.6, fading: rayleigh|rice|constant, k_db: 10}
//     - {delay: 0.3819, power_db: 0}       # normalised: multiplied by the delay spread
//
// Powers are relative; users normalise them to sum 1 (sample/delay_profile.h). Every key is known,
// every value checked.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sample/delay_profile.h"

namespace wip::profiles {

using sample_model::delay_profile;

// Names that are compiled in: awgn, flat, static, jakes, epa, eva, etu, tdl-a .. tdl-e.
std::vector<std::string> names();

// Throws std::invalid_argument, one line, for an unknown name, a bad file, or a delay spread (ns)
// asked of a profile whose delays are not normalised.
delay_profile load(const std::string& name_or_file,
                   std::optional<double> delay_spread_ns = std::nullopt);
delay_profile parse(const std::string& text, const std::string& file_name,
                    std::optional<double> delay_spread_ns = std::nullopt);

namespace detail {
const std::vector<std::pair<std::string, std::string>>& builtin_texts();
}

}  // namespace wip::profiles
