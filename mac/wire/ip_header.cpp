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

}  // namespace wip
