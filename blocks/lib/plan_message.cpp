// SPDX-License-Identifier: GPL-3.0-or-later
#include "plan_message.h"

#include <algorithm>
#include <string>

namespace wip {
namespace {

std::span<const std::uint8_t> bytes_of(const std::string& text) {
    return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

}  // namespace

std::optional<planned_slot> read_plan(const openwip::slot_link::SlotPlan& plan) {
    planned_slot out{};
    for (const auto& p : plan.payload()) {
        if (p.bin() >= nof_bins) return std::nullopt;
        out.payload[p.bin()] = bytes_of(p.payload());
    }
    if (plan.grant().size() != grant_bytes) return std::nullopt;
    std::ranges::copy(bytes_of(plan.grant()), out.packed.begin());
    const auto grant = unpack_grant(out.packed, link_profile::radio);
    if (!grant) return std::nullopt;
    out.grant = *grant;
    return out;
}

}  // namespace wip
