// SPDX-License-Identifier: GPL-3.0-or-later
#include "wire/feedback_bits.h"

#include <algorithm>
#include <cmath>

#include "types/bit_io.h"
#include "types/grant.h"

namespace wip {
namespace {
constexpr float lowest_db = -12.0F;
constexpr float step_db = 0.5F;
constexpr int highest_code = 127;
constexpr float nmse_steps_per_decade = 30.0F;
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

void pack_feedback(const feedback_content& f,
                   std::span<std::uint8_t, feedback_bytes> out) noexcept {
    bit_writer w(out);
    w.put(f.frame_number, 12);
    w.put(f.slot_in_frame, 5);
    w.put(f.grant_ok ? 1 : 0, 1);
    for (int b = 0; b < nof_bins; ++b) w.put(f.grant_ok ? f.ack >> b & 1U : 0, 1);
    for (const float s : f.predicted_snr_db) w.put(snr_code(db(s)), 7);
    w.put(nmse_code(f.prediction_nmse), 7);
}

std::optional<feedback_content> unpack_feedback(
    std::span<const std::uint8_t, feedback_bytes> in) noexcept {
    bit_reader r(in);
    feedback_content f;
    f.frame_number = static_cast<std::uint16_t>(r.get(12));
    f.slot_in_frame = static_cast<std::uint8_t>(r.get(5));
    f.grant_ok = r.get(1) == 1;
    for (int b = 0; b < nof_bins; ++b) f.ack |= r.get(1) << b;
    for (float& s : f.predicted_snr_db)
        s = snr_of_code(static_cast<std::uint8_t>(r.get(7))).single();
    f.prediction_nmse = nmse_of_code(static_cast<std::uint8_t>(r.get(7)));
    if (f.slot_in_frame >= slots_per_frame) return std::nullopt;
    if (!f.grant_ok && f.ack != 0) return std::nullopt;
    if (r.get(15) != 0) return std::nullopt;
    return f;
}

}  // namespace wip
