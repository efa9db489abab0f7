// SPDX-License-Identifier: GPL-3.0-or-later
// The four blocks of pcapng that a capture of a cell needs, appended to a buffer in the byte order
// of this machine (the section header's magic tells readers which). A block:
//
//   type u32 | length u32 | body | options: code u16, length u16, value, padded to 4 | length u32
//
// Own code, because no packaged library writes all of: several interfaces, options of packets and
// statistics (docs/how-to/captures.md). test_capture has the files read by capinfos and tshark.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace wip::capture {

using byte_buffer = std::vector<std::uint8_t>;

// Longest value of an option; longer text is cut.
inline constexpr std::size_t max_option_bytes = 65000;

enum class packet_direction : std::uint32_t { inbound = 1, outbound = 2 };

struct section {
    std::string application;
    std::vector<std::string> comments;
};
struct interface {
    std::uint16_t link_type = 0;
    std::uint32_t snap_bytes = 0;  // 0: no limit
    std::string name, description;
    std::vector<std::string> comments{};
};
struct packet {
    std::uint32_t interface = 0;
    std::int64_t time_ns = 0;  // since 1970
    std::span<const std::uint8_t> data;
    std::uint32_t original_bytes = 0;
    packet_direction direction = packet_direction::inbound;
    bool crc_error = false;
    std::uint64_t dropped_before = 0;  // packets dropped on this interface since the one before
};
struct interface_statistics {
    std::uint32_t interface = 0;
    std::int64_t start_ns = 0, end_ns = 0;
    std::uint64_t received = 0, dropped = 0;
    std::vector<std::string> comments;
};

// Where the value of each comment begins in `out` is appended to `comment_places`, if given.
void append(byte_buffer& out, const section& s, std::vector<std::size_t>* comment_places = nullptr);
void append(byte_buffer& out, const interface& i);
void append(byte_buffer& out, const packet& p);
void append(byte_buffer& out, const interface_statistics& s);

// Adds the packets in whole blocks to the count of their interface.
void count_packets(std::span<const std::uint8_t> blocks, std::vector<std::uint64_t>& by_interface);

// Length of the whole blocks among the first `n` bytes of `blocks`.
std::size_t whole_blocks(std::span<const std::uint8_t> blocks, std::size_t n);

}  // namespace wip::capture
