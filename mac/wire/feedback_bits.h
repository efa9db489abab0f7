// SPDX-License-Identifier: GPL-3.0-or-later
// The feedback form: what a terminal sends on the uplink about slot j of the downlink, in the
// control region of one of its own slots. 30 bytes (240 bits), the size of the downlink's grant, so
// that one code carries both (phy/coding/control_region.h):
//
//    6  frame number of slot j (slot / 30, modulo 64: 1.28 s)
//    5  slot j within its frame, 0..29
//    1  the grant of slot j was decoded (0: all ACK bits are 0)
//   25  ACK, bin 0 first
//  175  predicted SNR, 25 x 7 bits: code 0 = below the range, 1..127 = -12 dB + (code - 1) / 2 dB,
//       so -12 .. +51 dB in steps of 0.5 dB
//    7  running NMSE of the predictions: code 0 = not known, 1..127 = 10^((code - 127) / 30), so
//       6.3e-5 .. 1 in steps of 8 %; less reads back as the least
//    6  buffer status: bytes that wait in the terminal, 0 = none; code c = 4 e + q + 1 is at most
//       (4 + q) 2^(e + 2) bytes, 63 = 786 432 or more. Anything but 0 is the scheduling request
//   15  CRC-15 over the 225 bits before (0x3ED7, register starts at 0x7FFF, no reflection)
//
// A terminal that is not locked sends nothing. Steps of 0.5 dB are a sixth of the narrowest
// interval of the switch table (docs/explanation/mac.md); uniform quantisation adds 0.14 dB rms.
//
// The two CRCs, 15 bits here and 16 of the control region over all of it, are 31 conditions on a
// wrongly decoded form. docs/reference/air-interface.md has the probability that a wrong ACK passes
// both.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>

#include "types/control_content.h"
#include "types/db.h"
#include "types/grid.h"

namespace wip {

inline constexpr int feedback_bytes = control_content_bytes;
inline constexpr int feedback_frame_modulus = 64;

struct feedback_content {
    std::uint8_t frame_number = 0;   // 0..63
    std::uint8_t slot_in_frame = 0;  // 0..29
    bool grant_ok = false;
    std::uint32_t ack = 0;  // bit b: bin b
    std::array<float, nof_bins> predicted_snr_db{};
    float prediction_nmse = std::numeric_limits<float>::quiet_NaN();  // NaN: not known
    std::uint8_t buffer = 0;                                          // 0..63, buffer_code()
};

// 7-bit code of an SNR and back; below the range reads back as -20 dB, NaN is below the range.
std::uint8_t snr_code(db snr) noexcept;
db snr_of_code(std::uint8_t code) noexcept;
// 7-bit code of an NMSE and back; NaN and below 0 are "not known".
std::uint8_t nmse_code(float nmse) noexcept;
float nmse_of_code(std::uint8_t code) noexcept;
// 6-bit code of a number of bytes, and the most bytes that have the code.
std::uint8_t buffer_code(std::uint64_t bytes) noexcept;
std::uint32_t bytes_of_code(std::uint8_t code) noexcept;

void pack_feedback(const feedback_content& f, std::span<std::uint8_t, feedback_bytes> out) noexcept;

// nullopt when the bits are none that pack_feedback could have written.
std::optional<feedback_content> unpack_feedback(
    std::span<const std::uint8_t, feedback_bytes> in) noexcept;

}  // namespace wip
