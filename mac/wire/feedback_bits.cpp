// SPDX-License-Identifier: GPL-3.0-or-later
#include "wire/feedback_bits.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "types/bit_io.h"
#include "types/grant.h"

namespace wip {
namespace {
constexpr float lowest_db = -12.0F;
constexpr float step_db = 0.5F;
constexpr int highest_code = 127;
constexpr float nmse_steps_per_decade = 30.0F;
constexpr int highest_buffer_code = 63;
constexpr int crc_bits = 15;
constexpr int content_bits = 8 * feedback_bytes - crc_bits;  // 28 bytes and one bit

// CRC-15 over the content. Among the polynomials of even weight it has the fewest patterns of four
// bits in 240, and with the CRC-16 of the control region (0x1021) none of less than six passes.
std::uint32_t crc15(std::span<const std::uint8_t, feedback_bytes> bytes) noexcept {
    static constexpr auto table = [] {
        std::array<std::uint16_t, 256> t{};
        for (std::uint32_t i = 0; i < t.size(); ++i) {
            std::uint32_t r = i << 7;
            for (int b = 0; b < 8; ++b) r = r << 1 ^ (r >> 14 & 1 ? 0x3ed7U : 0U);
            t[i] = r & 0x7fff;
        }
        return t;
    }();
    std::uint32_t r = 0x7fff;
    for (const auto byte : bytes.first(content_bits / 8))
        r = (r << 8 ^ table[(r >> 7 ^ byte) & 255]) & 0x7fff;
    const std::uint32_t last = bytes[content_bits / 8] >> 7;
    return (r << 1 ^ ((r >> 14 ^ last) & 1 ? 0x3ed7U : 0U)) & 0x7fff;
}
}  // namespace

std::uint8_t snr_code(db snr) noexcept {
    const auto snr_db = snr.single();
    if (!(snr_db >= lowest_db - step_db / 2)) return 0;
    const float steps = std::min((snr_db - lowest_db) / step_db, 1000.0F);
    return static_cast<std::uint8_t>(
        std::min(1 + static_cast<int>(std::lround(steps)), highest_code));
}

db snr_of_code(std::uint8_t code) noexcept {
    if (code == 0) return db(-20);
    return db(lowest_db + step_db * static_cast<float>(std::min<int>(code, highest_code) - 1));
}

std::uint8_t nmse_code(float nmse) noexcept {
    if (!(nmse >= 0)) return 0;
    const float least = nmse_of_code(1);
    const float steps = nmse_steps_per_decade * std::log10(std::clamp(nmse, least, 1.0F));
    return static_cast<std::uint8_t>(highest_code + static_cast<int>(std::lround(steps)));
}

float nmse_of_code(std::uint8_t code) noexcept {
    if (code == 0) return std::numeric_limits<float>::quiet_NaN();
    const int below = std::min<int>(code, highest_code) - highest_code;
    return std::pow(10.0F, static_cast<float>(below) / nmse_steps_per_decade);
}

std::uint32_t bytes_of_code(std::uint8_t code) noexcept {
    if (code == 0) return 0;
    const int step = std::min<int>(code, highest_buffer_code) - 1;
    return static_cast<std::uint32_t>(4 + step % 4) << (step / 4 + 2);
}

std::uint8_t buffer_code(std::uint64_t bytes) noexcept {
    std::uint8_t code = 0;
    while (code < highest_buffer_code && bytes_of_code(code) < bytes) ++code;
    return code;
}

void pack_feedback(const feedback_content& f,
                   std::span<std::uint8_t, feedback_bytes> out) noexcept {
    bit_writer w(out);
    w.put(f.frame_number, 6);
    w.put(f.slot_in_frame, 5);
    w.put(f.grant_ok ? 1 : 0, 1);
    for (int b = 0; b < nof_bins; ++b) w.put(f.grant_ok ? f.ack >> b & 1U : 0, 1);
    for (const float s : f.predicted_snr_db) w.put(snr_code(db(s)), 7);
    w.put(nmse_code(f.prediction_nmse), 7);
    w.put(f.buffer, 6);
    w.put(crc15(out), crc_bits);
}

std::optional<feedback_content> unpack_feedback(
    std::span<const std::uint8_t, feedback_bytes> in) noexcept {
    if (((std::uint32_t{in[content_bits / 8]} << 8 & 0x7f00U) | in[content_bits / 8 + 1]) !=
        crc15(in))
        return std::nullopt;
    bit_reader r(in);
    feedback_content f;
    f.frame_number = static_cast<std::uint8_t>(r.get(6));
    f.slot_in_frame = static_cast<std::uint8_t>(r.get(5));
    f.grant_ok = r.get(1) == 1;
    for (int b = 0; b < nof_bins; ++b) f.ack |= r.get(1) << b;
    for (float& s : f.predicted_snr_db)
        s = snr_of_code(static_cast<std::uint8_t>(r.get(7))).single();
    f.prediction_nmse = nmse_of_code(static_cast<std::uint8_t>(r.get(7)));
    f.buffer = static_cast<std::uint8_t>(r.get(6));
    if (f.slot_in_frame >= slots_per_frame) return std::nullopt;
    if (!f.grant_ok && f.ack != 0) return std::nullopt;
    return f;
}

}  // namespace wip
