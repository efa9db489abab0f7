// SPDX-License-Identifier: GPL-3.0-or-later
// IPv4 packets for the unit tests: a right header, `mark` in every byte of the payload.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "wire/ip_header.h"

namespace wip::test {

inline std::vector<std::uint8_t> ipv4(std::size_t bytes, std::uint8_t mark = 0xab,
                                      std::uint8_t protocol = 17) {
    std::vector<std::uint8_t> p(bytes, mark);
    const std::uint8_t header[20] = {0x45,
                                     0,
                                     static_cast<std::uint8_t>(bytes >> 8),
                                     static_cast<std::uint8_t>(bytes),
                                     0,
                                     mark,
                                     0,
                                     0,
                                     64,
                                     protocol,
                                     0,
                                     0,
                                     10,
                                     42,
                                     0,
                                     1,
                                     10,
                                     42,
                                     0,
                                     2};
    std::copy(header, header + 20, p.begin());
    const std::uint32_t sum = ~internet_sum(std::span(p).first(20));
    p[10] = static_cast<std::uint8_t>(sum >> 8);
    p[11] = static_cast<std::uint8_t>(sum);
    return p;
}

inline std::vector<std::uint8_t> ipv6_udp(std::size_t bytes, std::uint8_t mark = 0xcd) {
    std::vector<std::uint8_t> p(bytes, mark);
    const auto length = bytes - 40;
    std::uint8_t header[48] = {
        0x60, 0,  0,   0, static_cast<std::uint8_t>(length >> 8), static_cast<std::uint8_t>(length),
        17,   64, 0xfd};
    header[24] = 0xfd;
    header[41] = 9;
    header[43] = 9;
    header[44] = header[4];
    header[45] = header[5];
    std::copy(header, header + 48, p.begin());
    std::uint32_t sum = internet_sum(std::span(p).subspan(8, 32));
    sum = ~internet_sum(std::span(p).subspan(40), sum + static_cast<std::uint32_t>(length) + 17);
    p[46] = static_cast<std::uint8_t>(sum >> 8);
    p[47] = static_cast<std::uint8_t>(sum);
    return p;
}

}  // namespace wip::test
