// SPDX-License-Identifier: GPL-3.0-or-later
// Frames among lines of text on one serial line. A frame is 0x00, COBS(message, CRC-32 with its low
// byte first), 0x00; text never has a 0x00, so the first one begins a frame and the next one after
// some bytes ends it. (COBS: S. Cheshire, M. Baker, Consistent overhead byte stuffing, 1999.)
//
// Back in step by itself: a frame whose end is lost is ended by the begin of the next one, and that
// one's bytes are taken for text up to its end, which then counts as a begin that the one after it
// repeats: one frame more is lost. A frame that goes on for too long without a byte is given up
// (`idle`), so that text typed after a lost end is text.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace wip::attenuator {

inline constexpr std::size_t max_message_bytes = 272;
inline constexpr std::size_t crc_bytes = 4;
inline constexpr std::size_t max_cobs_bytes =
    max_message_bytes + crc_bytes + (max_message_bytes + crc_bytes) / 254 + 1;
inline constexpr std::size_t max_frame_bytes = max_cobs_bytes + 2;

// Writes a frame and returns its number of bytes; 0: the message is too long.
std::size_t write_frame(std::span<const std::uint8_t> message,
                        std::span<std::uint8_t, max_frame_bytes> frame);

class frame_reader {
public:
    enum class taken : std::uint8_t {
        text,     // the byte is not of a frame
        part,     // the byte belongs to a frame that is not complete yet
        message,  // the frame is complete: see message()
        damaged,  // the frame is complete, but its CRC or coding is wrong
    };
    taken on_byte(std::uint8_t byte);
    // Drops a frame that has begun, after a silence so long that it will not go on.
    void idle() {
        inside_ = false;
        size_ = 0;
    }
    bool inside() const { return inside_; }
    // Valid until the next byte.
    std::span<const std::uint8_t> message() const { return {buffer_.data(), message_size_}; }

private:
    std::optional<std::size_t> unstuff();

    std::array<std::uint8_t, max_cobs_bytes> buffer_{};
    std::size_t size_ = 0, message_size_ = 0;
    bool inside_ = false, too_long_ = false;
};

}  // namespace wip::attenuator
