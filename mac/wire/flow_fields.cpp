// SPDX-License-Identifier: GPL-3.0-or-later
#include "wire/flow_fields.h"

#include <algorithm>

#include "wire/ip_header.h"

namespace wip {
namespace {

constexpr std::uint8_t tcp = 6, udp = 17;

std::uint16_t word_at(std::span<const std::uint8_t> p, std::size_t i) {
    return static_cast<std::uint16_t>(p[i] << 8 | p[i + 1]);
}

}  // namespace

flow_fields read_flow_fields(std::span<const std::uint8_t> packet) noexcept {
    flow_fields f;
    if (packet.empty()) return f;
    const std::size_t header = ip_header_bytes(packet[0]);
    if (header == 0 || packet.size() < header) return f;
    bool first_fragment = true;
    if (packet[0] >> 4 == 4) {
        f.protocol = packet[9];
        f.identification = word_at(packet, 4);
        first_fragment = (word_at(packet, 6) & 0x1fff) == 0;
    } else {
        f.protocol = packet[6];
    }
    if (!first_fragment || (f.protocol != tcp && f.protocol != udp)) return f;
    if (packet.size() < header + 4) return f;
    f.source_port = word_at(packet, header);
    f.destination_port = word_at(packet, header + 2);
    if (f.protocol == tcp && packet.size() >= header + 8)
        f.tcp_sequence = static_cast<std::uint32_t>(word_at(packet, header + 4)) << 16 |
                         word_at(packet, header + 6);
    return f;
}

std::size_t application_bytes(std::span<const std::uint8_t> packet) noexcept {
    const auto ip = read_ip_header(packet);
    if (!ip) return 0;
    std::size_t headers = ip->header_bytes;
    const flow_fields f = read_flow_fields(packet);
    // A later fragment has no ports.
    if (f.source_port != 0 || f.destination_port != 0) {
        if (f.protocol == udp) headers += 8;
        if (f.protocol == tcp)
            headers += packet.size() > headers + 12 ? (packet[headers + 12] >> 4) * 4U : 20U;
    }
    const std::size_t end = std::min(packet.size(), ip->total_bytes);
    return end > headers ? end - headers : 0;
}

}  // namespace wip
