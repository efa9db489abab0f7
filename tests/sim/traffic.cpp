// SPDX-License-Identifier: GPL-3.0-or-later
#include "traffic.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "wire/ip_header.h"

namespace wip::sim {
namespace {

void put16(std::vector<std::uint8_t>& p, std::size_t at, std::size_t value) {
    p[at] = static_cast<std::uint8_t>(value >> 8);
    p[at + 1] = static_cast<std::uint8_t>(value);
}
void put32(std::vector<std::uint8_t>& p, std::size_t at, std::uint32_t value) {
    put16(p, at, value >> 16);
    put16(p, at + 2, value & 0xffff);
}

}  // namespace

double random_source::gauss() {
    const double u = 1 - uniform();
    return std::sqrt(-2 * std::log(u)) * std::cos(2 * std::numbers::pi * uniform());
}

// IPv4: the number is the source address. IPv6: the last 32 bits of the source address.
std::vector<std::uint8_t> make_packet(std::uint32_t number, const packet_kind& kind) {
    const auto size = static_cast<std::size_t>(kind.bytes);
    std::vector<std::uint8_t> p(size);
    const std::size_t header = kind.version == 4 ? 20 : 40;
    random_source content(number * 2654435761U + static_cast<std::uint32_t>(kind.bytes));
    if (kind.nested && size >= header + 68) {
        packet_kind inner;
        inner.bytes = kind.bytes - static_cast<int>(header);
        const auto in = make_packet(number ^ 0x80000000U, inner);
        std::copy(in.begin(), in.end(), p.begin() + static_cast<std::ptrdiff_t>(header));
    } else if (kind.crafted) {
        std::vector<std::uint8_t> in(20);
        for (std::size_t at = header; at + 20 <= size; at += 20) {
            in[0] = 0x45;
            put16(in, 2, 20);
            in[8] = 64;
            in[9] = 17;
            put32(in, 12, number ^ 0x80000000U);
            put16(in, 10, 0);
            put16(in, 10, ~internet_sum(in) & 0xffff);
            std::copy(in.begin(), in.end(), p.begin() + static_cast<std::ptrdiff_t>(at));
        }
    } else if (kind.fill >= 0) {
        std::fill(p.begin() + static_cast<std::ptrdiff_t>(header), p.end(),
                  static_cast<std::uint8_t>(kind.fill));
    } else {
        for (std::size_t i = header; i < size; ++i)
            p[i] = static_cast<std::uint8_t>(content.next() >> 56);
    }
    if (kind.version == 4) {
        p[0] = 0x45;
        put16(p, 2, size);
        p[8] = 64;
        p[9] = static_cast<std::uint8_t>(kind.protocol);
        put32(p, 12, number);
        put32(p, 16, 0x0a2a0002);
        put16(p, 10, ~internet_sum(std::span(p).first(20)) & 0xffff);
    } else {
        p[0] = 0x60;
        put16(p, 4, size - 40);
        p[6] = 17;
        p[7] = 64;
        p[8] = 0xfd;
        put32(p, 20, number);
        p[24] = 0xfd;
        p[39] = 2;
        // UDP with its mandatory checksum.
        put16(p, 40, 1000);
        put16(p, 42, 2000);
        put16(p, 44, size - 40);
        put16(p, 46, 0);
        std::uint32_t sum = internet_sum(std::span(p).subspan(8, 32));
        sum += static_cast<std::uint32_t>(size - 40) + 17;
        const auto check = ~internet_sum(std::span(p).subspan(40), sum) & 0xffff;
        put16(p, 46, check == 0 ? 0xffff : check);
    }
    return p;
}

std::optional<std::uint32_t> packet_number(std::span<const std::uint8_t> p) {
    const auto h = read_ip_header(p);
    if (!h || h->total_bytes != p.size()) return std::nullopt;
    const std::size_t at = h->version == 4 ? 12 : 20;
    return static_cast<std::uint32_t>(p[at]) << 24 | static_cast<std::uint32_t>(p[at + 1]) << 16 |
           static_cast<std::uint32_t>(p[at + 2]) << 8 | p[at + 3];
}

}  // namespace wip::sim
