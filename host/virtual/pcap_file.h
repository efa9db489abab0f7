// SPDX-License-Identifier: GPL-3.0-or-later
// IP packets with their nanoseconds, for Wireshark and for telling two runs apart: pcap (nanosecond
// magic, LINKTYPE_RAW), of nothing but what it is given, so equal runs make equal files.
#pragma once

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <span>
#include <string>
#include <vector>

#include "types/failure.h"

namespace wip::virtual_time {

class pcap_file {
public:
    // Throws machine_error that names the file.
    explicit pcap_file(const std::string& name)
        : name_(name), file_(std::fopen(name.c_str(), "wb")) {
        if (file_ == nullptr) fail();
        std::setvbuf(file_, buffer_.data(), _IOFBF, buffer_.size());
        put(std::array<std::uint32_t, 6>{0xa1b23c4d, 4U << 16 | 2U, 0, 0, 65535, 101});
    }
    ~pcap_file() { std::fclose(file_); }
    pcap_file(const pcap_file&) = delete;
    pcap_file& operator=(const pcap_file&) = delete;

    void write(std::int64_t now_ns, std::span<const std::uint8_t> packet) {
        const auto size = static_cast<std::uint32_t>(packet.size());
        put(std::array<std::uint32_t, 4>{static_cast<std::uint32_t>(now_ns / 1'000'000'000),
                                         static_cast<std::uint32_t>(now_ns % 1'000'000'000), size,
                                         size});
        if (std::fwrite(packet.data(), 1, packet.size(), file_) != packet.size()) fail();
    }
    // Writes all that is buffered, to the last byte: the caller is the one who can still throw.
    void flush() {
        if (std::fflush(file_) != 0) fail();
    }

private:
    template <class Words>
    void put(const Words& words) {
        if (std::fwrite(words.data(), sizeof words[0], words.size(), file_) != words.size()) fail();
    }
    [[noreturn]] void fail() const { throw machine_error(name_, errno); }

    std::string name_;
    std::vector<char> buffer_ =
        std::vector<char>(1U << 18U);  // a large buffer, so that a write holds many packets
    std::FILE* file_;
};

}  // namespace wip::virtual_time
