// SPDX-License-Identifier: GPL-3.0-or-later
#include "capture/pcap_records.h"

#include <cstring>

namespace wip::capture {
namespace {

constexpr std::uint32_t description_block = 1, packet_block = 6;  // types in pcapng
// first word of a file with times in ns
constexpr std::uint32_t magic_of_nanoseconds = 0xa1b23c4d, longest_packet = 262144;
constexpr std::size_t file_header = 24, record_header = 16;  // bytes

template <class T>
T at(std::span<const std::uint8_t> bytes, std::size_t place) {
    T value;
    std::memcpy(&value, bytes.data() + place, sizeof value);
    return value;
}

template <class T>
void put(byte_buffer& out, T value) {
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(&value);
    out.insert(out.end(), bytes, bytes + sizeof value);
}

}  // namespace

void pcap_records::append(byte_buffer& out, std::span<const std::uint8_t> blocks) {
    for (std::size_t i = 0; i + 12 <= blocks.size();) {
        const auto type = at<std::uint32_t>(blocks, i), length = at<std::uint32_t>(blocks, i + 4);
        if (type == description_block && !has_header_) {
            put(out, magic_of_nanoseconds);
            put(out, std::uint16_t{2});
            put(out, std::uint16_t{4});
            put(out, std::uint64_t{0});  // time zone, accuracy
            const auto snap = at<std::uint32_t>(blocks, i + 12);
            put(out, snap == 0 ? longest_packet : snap);
            put(out, std::uint32_t{at<std::uint16_t>(blocks, i + 8)});
            has_header_ = true;
        } else if (type == packet_block) {
            const std::uint64_t ns = (std::uint64_t{at<std::uint32_t>(blocks, i + 12)} << 32) |
                                     at<std::uint32_t>(blocks, i + 16);
            const auto kept = at<std::uint32_t>(blocks, i + 20);
            put(out, static_cast<std::uint32_t>(ns / 1'000'000'000));
            put(out, static_cast<std::uint32_t>(ns % 1'000'000'000));
            put(out, kept);
            put(out, at<std::uint32_t>(blocks, i + 24));
            const auto data = blocks.subspan(i + 28, kept);
            out.insert(out.end(), data.begin(), data.end());
        }
        i += length;
    }
}

std::size_t pcap_records::whole(std::span<const std::uint8_t> records, std::size_t n, bool first) {
    std::size_t i = first ? file_header : 0;
    if (i > n) return 0;
    while (i + record_header <= n) {
        const std::size_t length = record_header + at<std::uint32_t>(records, i + 8);
        if (length > n - i) break;
        i += length;
    }
    return i;
}

std::uint64_t pcap_records::count(std::span<const std::uint8_t> records, bool first) {
    std::uint64_t found = 0;
    for (std::size_t i = first ? file_header : 0; i + record_header <= records.size(); ++found)
        i += record_header + at<std::uint32_t>(records, i + 8);
    return found;
}

}  // namespace wip::capture
