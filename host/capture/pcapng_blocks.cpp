// SPDX-License-Identifier: GPL-3.0-or-later
#include "capture/pcapng_blocks.h"

#include <cstring>

namespace wip::capture {
namespace {

enum block_type : std::uint32_t {
    section_header = 0x0a0d0d0a,
    interface_description = 1,
    statistics = 5,
    enhanced_packet = 6,
};
enum option_code : std::uint16_t {
    end_of_options = 0,
    comment = 1,
    section_application = 4,
    interface_name = 2,
    interface_text = 3,
    interface_time_resolution = 9,
    packet_flags = 2,
    packet_drop_count = 4,
    statistics_start = 2,
    statistics_end = 3,
    statistics_received = 4,
    statistics_dropped = 5,
};
constexpr std::uint32_t byte_order_magic = 0x1a2b3c4d;
constexpr std::uint32_t flag_crc_error = 1u << 24;  // bit of the option epb_flags
constexpr std::uint8_t nanoseconds = 9;             // the time is counted in 10^-9 s

class block {
public:
    block(byte_buffer& out, block_type type) : out_(out), start_(out.size()) {
        put(static_cast<std::uint32_t>(type));
        put(std::uint32_t{0});  // length, when it is known
    }
    template <class T>
    void put(T value) {
        const std::size_t at = out_.size();
        out_.resize(at + sizeof value);
        std::memcpy(out_.data() + at, &value, sizeof value);
    }
    void put_bytes(std::span<const std::uint8_t> bytes) {
        out_.insert(out_.end(), bytes.begin(), bytes.end());
        out_.resize(out_.size() + (4 - bytes.size() % 4) % 4);
    }
    // High half first, whatever the byte order.
    void put_time(std::int64_t ns) {
        put(static_cast<std::uint32_t>(static_cast<std::uint64_t>(ns) >> 32));
        put(static_cast<std::uint32_t>(ns));
    }
    void option_head(option_code code, std::size_t bytes) {
        put(static_cast<std::uint16_t>(code));
        put(static_cast<std::uint16_t>(bytes));
        has_options_ = true;
    }
    std::size_t option(option_code code, std::string_view text) {
        text = text.substr(0, max_option_bytes);
        option_head(code, text.size());
        const std::size_t at = out_.size();
        put_bytes({reinterpret_cast<const std::uint8_t*>(text.data()), text.size()});
        return at;
    }
    template <class T>
    void option_number(option_code code, T value) {
        option_head(code, sizeof value);
        put(value);
        out_.resize(out_.size() + (4 - sizeof value % 4) % 4);
    }
    void end() {
        if (has_options_) put(std::uint32_t{end_of_options});
        const auto length = static_cast<std::uint32_t>(out_.size() - start_ + 4);
        put(length);
        std::memcpy(out_.data() + start_ + 4, &length, sizeof length);
    }

private:
    byte_buffer& out_;
    std::size_t start_;
    bool has_options_ = false;
};

}  // namespace

void append(byte_buffer& out, const section& s, std::vector<std::size_t>* comment_places) {
    block b(out, section_header);
    b.put(byte_order_magic);
    b.put(std::uint16_t{1});  // version 1.0
    b.put(std::uint16_t{0});
    b.put(std::int64_t{-1});  // the length of the section is not known beforehand
    for (const auto& text : s.comments) {
        const std::size_t at = b.option(comment, text);
        if (comment_places != nullptr) comment_places->push_back(at);
    }
    b.option(section_application, s.application);
    b.end();
}

void append(byte_buffer& out, const interface& i) {
    block b(out, interface_description);
    b.put(i.link_type);
    b.put(std::uint16_t{0});
    b.put(i.snap_bytes);
    for (const auto& text : i.comments) b.option(comment, text);
    b.option(interface_name, i.name);
    b.option(interface_text, i.description);
    b.option_number(interface_time_resolution, nanoseconds);
    b.end();
}

void append(byte_buffer& out, const packet& p) {
    block b(out, enhanced_packet);
    b.put(p.interface);
    b.put_time(p.time_ns);
    b.put(static_cast<std::uint32_t>(p.data.size()));
    b.put(p.original_bytes);
    b.put_bytes(p.data);
    b.option_number(packet_flags,
                    static_cast<std::uint32_t>(p.direction) | (p.crc_error ? flag_crc_error : 0));
    if (p.dropped_before != 0) b.option_number(packet_drop_count, p.dropped_before);
    b.end();
}

void append(byte_buffer& out, const interface_statistics& s) {
    block b(out, statistics);
    b.put(s.interface);
    b.put_time(s.end_ns);
    for (const auto& text : s.comments) b.option(comment, text);
    b.option_head(statistics_start, 8);
    b.put_time(s.start_ns);
    b.option_head(statistics_end, 8);
    b.put_time(s.end_ns);
    b.option_number(statistics_received, s.received);
    b.option_number(statistics_dropped, s.dropped);
    b.end();
}

void count_packets(std::span<const std::uint8_t> blocks, std::vector<std::uint64_t>& by_interface) {
    for (std::size_t at = 0; at + 12 <= blocks.size();) {
        std::uint32_t head[3];  // block type, length, and the interface of a packet block
        std::memcpy(head, blocks.data() + at, sizeof head);
        if (head[0] == enhanced_packet) {
            if (head[2] >= by_interface.size()) by_interface.resize(head[2] + 1);
            ++by_interface[head[2]];
        }
        at += head[1];
    }
}

std::size_t whole_blocks(std::span<const std::uint8_t> blocks, std::size_t n) {
    std::size_t at = 0;
    while (at + 8 <= n) {
        std::uint32_t length;
        std::memcpy(&length, blocks.data() + at + 4, sizeof length);
        if (length < 12 || length > n - at) break;
        at += length;
    }
    return at;
}

}  // namespace wip::capture
