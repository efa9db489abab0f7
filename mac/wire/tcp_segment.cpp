// SPDX-License-Identifier: GPL-3.0-or-later
#include "wire/tcp_segment.h"

#include <algorithm>

#include "wire/ip_header.h"

namespace wip::tcp {

flow_key flow_key::reversed() const {
    flow_key other = *this;
    const std::ptrdiff_t size = version == 4 ? 4 : 16;
    std::rotate(other.addresses.begin(), other.addresses.begin() + size,
                other.addresses.begin() + 2 * size);
    other.ports = ports << 16 | ports >> 16;
    return other;
}

std::optional<segment> read_segment(std::span<const std::uint8_t> packet) {
    const auto ip = read_ip_header(packet);
    if (!ip || ip->total_bytes != packet.size() || packet.size() < ip->header_bytes + least_header)
        return std::nullopt;
    const bool is_ipv4 = ip->version == 4;
    if (packet[is_ipv4 ? 9 : 6] != protocol) return std::nullopt;
    if (is_ipv4 && (read16(packet, 6) & 0x3fff) != 0) return std::nullopt;  // a fragment
    const bytes tcp = packet.subspan(ip->header_bytes);
    const std::size_t header = std::size_t{4} * (tcp[12] >> 4);
    if (header < least_header || header > tcp.size()) return std::nullopt;
    segment s;
    std::ranges::copy(packet.subspan(is_ipv4 ? 12 : 8, is_ipv4 ? 8 : 32), s.key.addresses.begin());
    s.key.ports = read32(tcp, 0);
    s.key.version = static_cast<std::uint8_t>(ip->version);
    s.sequence = read32(tcp, 4);
    s.acknowledgement = read32(tcp, 8);
    s.flags = tcp[13];
    s.window = read16(tcp, 14);
    s.options = tcp.first(header).subspan(least_header);
    s.data = tcp.size() - header;
    return s;
}

}  // namespace wip::tcp
