// SPDX-License-Identifier: GPL-3.0-or-later
// Division of indexes that rounds down, also below zero.
#pragma once

#include <cstdint>

namespace wip::sample_model {

constexpr std::int64_t floor_divide(std::int64_t a, std::int64_t b) noexcept {
    return a >= 0 ? a / b : -((b - 1 - a) / b);
}

}  // namespace wip::sample_model
