// SPDX-License-Identifier: GPL-3.0-or-later
// Classic pcap, for readers that take one link type in a file (tcpdump with libpcap 1.10.3 reads no
// pcapng of several interfaces): blocks of pcapng as the records that they are there. Interfaces,
// directions, comments and statistics have no place in it.
//
//   file header 24 bytes: magic of nanoseconds, version 2.4, longest packet, link type
//   record: seconds u32, nanoseconds u32, bytes kept u32, bytes u32, packet
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "capture/pcapng_blocks.h"

namespace wip::capture {

class pcap_records {
public:
    // Appends what whole blocks are in pcap. All interfaces have one link type.
    void append(byte_buffer& out, std::span<const std::uint8_t> blocks);

    // Length of the whole records among the first `n` bytes; `first`: the file header is before
    // them.
    static std::size_t whole(std::span<const std::uint8_t> records, std::size_t n, bool first);
    // How many records these are.
    static std::uint64_t count(std::span<const std::uint8_t> records, bool first);

private:
    bool has_header_ = false;
};

}  // namespace wip::capture
