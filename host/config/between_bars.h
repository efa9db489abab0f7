// SPDX-License-Identifier: GPL-3.0-or-later
// Lists in the generated rows of the table of settings: values between bars, such as "on|off".
#pragma once

#include <string_view>
#include <vector>

namespace wip::config {

// The values between the bars: at least one, which may be empty.
inline std::vector<std::string_view> between_bars(std::string_view values) {
    std::vector<std::string_view> all;
    for (std::size_t from = 0;;) {
        const auto bar = values.find('|', from);
        all.push_back(values.substr(from, bar == std::string_view::npos ? bar : bar - from));
        if (bar == std::string_view::npos) return all;
        from = bar + 1;
    }
}

}  // namespace wip::config
