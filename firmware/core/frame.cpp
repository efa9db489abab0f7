// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/frame.h"

#include "core/crc32.h"

namespace wip::attenuator {

std::size_t write_frame(std::span<const std::uint8_t> message,
                        std::span<std::uint8_t, max_frame_bytes> frame) {
    if (message.size() > max_message_bytes) return 0;
    std::size_t at = 0, code_at = 1;
    std::uint8_t code = 1;
    frame[at++] = 0;
    ++at;  // the place of the first code byte
    const auto put = [&](std::uint8_t byte) {
        if (code == 0xff) {  // 254 bytes without a zero
            frame[code_at] = code;
            code_at = at++;
            code = 1;
        }
        if (byte == 0) {
            frame[code_at] = code;
            code_at = at++;
            code = 1;
            return;
        }
        frame[at++] = byte;
        ++code;
    };
    for (const std::uint8_t byte : message) put(byte);
    const std::uint32_t crc = crc32(message);
    for (unsigned k = 0; k < crc_bytes; ++k) put(static_cast<std::uint8_t>(crc >> 8 * k));
    frame[code_at] = code;
    frame[at++] = 0;
    return at;
}

frame_reader::taken frame_reader::on_byte(std::uint8_t byte) {
    if (byte != 0) {
        if (!inside_) return taken::text;
        if (size_ < buffer_.size())
            buffer_[size_++] = byte;
        else
            too_long_ = true;
        return taken::part;
    }
    if (!inside_) {
        inside_ = true;
        too_long_ = false;
        size_ = 0;
        return taken::part;
    }
    if (size_ == 0) return taken::part;  // a further 0x00 begins the frame again
    inside_ = false;
    const auto message = too_long_ ? std::nullopt : unstuff();
    size_ = 0;
    if (!message) return taken::damaged;
    message_size_ = *message;
    return taken::message;
}

// Decodes in place: writing never overtakes reading.
std::optional<std::size_t> frame_reader::unstuff() {
    std::size_t read = 0, written = 0;
    while (read < size_) {
        const std::size_t code = buffer_[read++];
        if (read + code - 1 > size_) return std::nullopt;
        for (std::size_t k = 1; k < code; ++k) buffer_[written++] = buffer_[read++];
        if (code != 0xff && read < size_) buffer_[written++] = 0;
    }
    if (written < crc_bytes || written - crc_bytes > max_message_bytes) return std::nullopt;
    const std::size_t size = written - crc_bytes;
    std::uint32_t crc = 0;
    for (unsigned k = 0; k < crc_bytes; ++k)
        crc |= static_cast<std::uint32_t>(buffer_[size + k]) << 8 * k;
    if (crc != crc32({buffer_.data(), size})) return std::nullopt;
    return size;
}

}  // namespace wip::attenuator
