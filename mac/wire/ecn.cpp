// SPDX-License-Identifier: GPL-3.0-or-later
#include "wire/ecn.h"

#include <cstddef>

#include "wire/flow_fields.h"
#include "wire/ip_header.h"

namespace wip {
namespace {

bool has_header(std::span<const std::uint8_t> packet) {
    if (packet.empty()) return false;
    const std::size_t bytes = ip_header_bytes(packet[0]);
    return bytes > 0 && packet.size() >= bytes;
}
bool is_ipv4(std::span<const std::uint8_t> packet) { return packet[0] >> 4 == 4; }

bool is_ipv4_fragment(std::span<const std::uint8_t> packet) {
    return is_ipv4(packet) && ((packet[6] & 0x3f) != 0 || packet[7] != 0);
}

// Replaces one 16-bit word of an IPv4 header in its checksum (RFC 1624, equation 3).
void correct_checksum(std::span<std::uint8_t> header, std::uint16_t before, std::uint16_t after) {
    const auto old = static_cast<std::uint16_t>(header[10] << 8 | header[11]);
    std::uint32_t sum = static_cast<std::uint16_t>(~old);
    sum += static_cast<std::uint16_t>(~before);
    sum += after;
    while (sum >> 16 != 0) sum = (sum & 0xffff) + (sum >> 16);
    header[10] = static_cast<std::uint8_t>(~sum >> 8);
    header[11] = static_cast<std::uint8_t>(~sum);
}

// FNV-1a with 64 bits; value() mixes the bits again and returns the upper half.
class fnv {
public:
    explicit fnv(std::uint64_t key) : state_(key ^ 0xcbf29ce484222325U) {}
    void add(std::uint8_t byte) { state_ = (state_ ^ byte) * 0x100000001b3U; }
    void add(std::uint16_t word) {
        add(static_cast<std::uint8_t>(word >> 8));
        add(static_cast<std::uint8_t>(word));
    }
    std::uint32_t value() const {
        const std::uint64_t mixed = (state_ ^ state_ >> 29) * 0xbf58476d1ce4e5b9U;
        return static_cast<std::uint32_t>(mixed >> 32);
    }

private:
    std::uint64_t state_;
};

}  // namespace

ecn read_ecn(std::span<const std::uint8_t> packet) noexcept {
    if (!has_header(packet)) return ecn::not_ect;
    const int bits = is_ipv4(packet) ? packet[1] : packet[1] >> 4;
    return static_cast<ecn>(bits & 3);
}

bool mark_congestion(std::span<std::uint8_t> packet) noexcept {
    if (read_ecn(packet) == ecn::not_ect) return false;
    if (!is_ipv4(packet)) {
        packet[1] |= 0x30;
        return true;
    }
    const auto before = static_cast<std::uint16_t>(packet[0] << 8 | packet[1]);
    packet[1] |= 3;
    correct_checksum(packet, before, static_cast<std::uint16_t>(packet[0] << 8 | packet[1]));
    return true;
}

std::uint32_t flow_hash(std::span<const std::uint8_t> packet, std::uint64_t key) noexcept {
    fnv hash(key);
    if (!has_header(packet)) return hash.value();
    const bool v4 = is_ipv4(packet);
    for (const std::uint8_t b : v4 ? packet.subspan(12, 8) : packet.subspan(8, 32)) hash.add(b);
    const flow_fields f = read_flow_fields(packet);
    hash.add(f.protocol);
    if (is_ipv4_fragment(packet)) return hash.value();
    hash.add(f.source_port);
    hash.add(f.destination_port);
    return hash.value();
}

}  // namespace wip
