// SPDX-License-Identifier: GPL-3.0-or-later
#include "wire/ip_header.h"

namespace wip {

std::uint32_t internet_sum(std::span<const std::uint8_t> data, std::uint32_t sum) noexcept {
    std::size_t i = 0;
    for (; i + 1 < data.size(); i += 2)
        sum += static_cast<std::uint32_t>(data[i]) << 8 | data[i + 1];
    if (i < data.size()) sum += static_cast<std::uint32_t>(data[i]) << 8;
    while (sum >> 16 != 0) sum = (sum & 0xffff) + (sum >> 16);
    return sum;
}

std::size_t ip_header_bytes(std::uint8_t first) noexcept {
    if (first >> 4 == 6) return 40;
    if (first >> 4 == 4 && (first & 0xf) >= 5) return std::size_t{4} * (first & 0xf);
    return 0;
}

std::optional<ip_header> read_ip_header(std::span<const std::uint8_t> data) noexcept {
    if (data.empty()) return std::nullopt;
    ip_header h;
    h.header_bytes = ip_header_bytes(data[0]);
    if (h.header_bytes == 0 || data.size() < h.header_bytes) return std::nullopt;
    if (data[0] >> 4 == 6) {
        h.version = 6;
        h.total_bytes = 40 + (static_cast<std::size_t>(data[4]) << 8 | data[5]);
        return h;
    }
    h.version = 4;
    h.total_bytes = static_cast<std::size_t>(data[2]) << 8 | data[3];
    if (h.total_bytes < h.header_bytes) return std::nullopt;
    if (internet_sum(data.first(h.header_bytes)) != 0xffff) return std::nullopt;
    return h;
}

namespace {

bool known_protocol(int version, std::uint8_t protocol) noexcept {
    switch (protocol) {
        case 4:    // IPv4 in IP
        case 6:    // TCP
        case 17:   // UDP
        case 33:   // DCCP
        case 41:   // IPv6 in IP
        case 47:   // GRE
        case 50:   // ESP
        case 51:   // AH
        case 89:   // OSPF
        case 103:  // PIM
        case 132:  // SCTP
        case 136:  // UDP-Lite
            return true;
        case 1:    // ICMP
        case 2:    // IGMP
        case 46:   // RSVP
        case 112:  // VRRP
        case 115:  // L2TP
            return version == 4;
        case 0:   // hop-by-hop options
        case 43:  // routing
        case 44:  // fragment
        case 58:  // ICMPv6
        case 59:  // none
        case 60:  // destination options
            return version == 6;
        default:
            return false;
    }
}

}  // namespace

bool plausible_ip_header(std::span<const std::uint8_t> data) noexcept {
    if (data.size() < 10) return false;
    if (data[0] >> 4 == 6) return data[7] != 0 && known_protocol(6, data[6]);
    return data[0] >> 4 == 4 && data[8] != 0 && (data[6] & 0x80) == 0 && known_protocol(4, data[9]);
}

bool ipv6_transport_checksum_ok(std::span<const std::uint8_t> packet) noexcept {
    if (packet.size() < 40 || packet[0] >> 4 != 6) return false;
    const auto h = read_ip_header(packet);
    if (!h || h->total_bytes != packet.size()) return false;
    const std::uint8_t protocol = packet[6];
    const std::size_t length = packet.size() - 40;
    const std::size_t least = protocol == 6 ? 20 : protocol == 17 ? 8 : protocol == 58 ? 4 : 0;
    if (least == 0 || length < least) return false;
    // Pseudo-header: both addresses, length, protocol.
    std::uint32_t sum = internet_sum(packet.subspan(8, 32));
    sum += static_cast<std::uint32_t>(length) + protocol;
    return internet_sum(packet.subspan(40), sum) == 0xffff;
}

}  // namespace wip
