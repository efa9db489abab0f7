// SPDX-License-Identifier: GPL-3.0-or-later
// Functions that several benchmarks share.
#pragma once

#include <algorithm>
#include <cstdint>
#include <ctime>
#include <span>
#include <vector>

#include "wire/ip_header.h"

namespace wip::bench {

// Processor time of this process.
inline double cpu_seconds() {
    timespec t{};
    ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

// An IPv4 packet of 1500 bytes with a right header.
inline std::vector<std::uint8_t> full_packet() {
    std::vector<std::uint8_t> packet(1500, 0x5a);
    const std::uint8_t header[20] = {0x45, 0, 5, 0xdc, 0, 0, 0, 0, 64, 17};
    std::copy(header, header + 20, packet.begin());
    const std::uint32_t sum = ~internet_sum(std::span<const std::uint8_t>(packet).first(20));
    packet[10] = static_cast<std::uint8_t>(sum >> 8);
    packet[11] = static_cast<std::uint8_t>(sum);
    return packet;
}

}  // namespace wip::bench
