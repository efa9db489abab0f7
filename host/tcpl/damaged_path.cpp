// SPDX-License-Identifier: GPL-3.0-or-later
#include "tcpl/damaged_path.h"

#include "wire/ip_header.h"

namespace wip::tcpl {
namespace {
// The purposes for which the shared seed is used.
constexpr std::uint32_t forward_purpose = 0x54435001, back_purpose = 0x54435002;
}  // namespace

damaged_path::damaged_path(const path_config& config)
    : forward_(config.forward, forward_purpose),
      back_(config.back, back_purpose),
      errors_(
          config.errors,
          [spare = config.spare_ip_header](std::span<const std::uint8_t> packet) {
              return spare && !packet.empty() ? ip_header_bytes(packet[0]) : 0;
          },
          [this](std::span<const std::uint8_t> packet, bool) {
              arrived_.assign(packet.begin(), packet.end());
              if (relay_) relay_->on_incoming(arrived_);
          }) {
    if (config.relay) relay_.emplace(config.recovery);
}

}  // namespace wip::tcpl
