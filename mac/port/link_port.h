// SPDX-License-Identifier: GPL-3.0-or-later
// These structs pass between the MAC and whatever carries its frames: the PHY of a radio, a
// bin-level model, a trace, a test. They are plain values without calls: the owner of the clock
// moves them. The same structs cross the process boundary as the messages of
// mac/schema/slot_link.proto.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <vector>

#include "types/frame.h"
#include "types/frame_outcome.h"
#include "types/grant.h"
#include "types/grid.h"

namespace wip {

// Base station, towards the transmitter: everything that goes out in one slot.
struct slot_plan {
    slot air;
    slot_grant grant;
    // Payload of bin b (frame_payload_bytes(profile, k) bytes, nibble-packed); empty when unused.
    std::array<std::vector<std::uint8_t>, nof_bins> payload;
};

// Terminal, from the receiver: everything that came in with one slot.
struct slot_report {
    slot air;               // the slot this is about, in the base station's count when locked
    bool locked = false;    // timing, frequency and pilots are tracked
    bool grant_ok = false;  // control region decoded, CRC passed, frame number as expected
    slot_grant grant;       // valid when grant_ok
    std::array<frame_outcome, nof_bins> outcome{};
    // Frame payload after detection (bad frames too: they may be delivered with their errors).
    std::array<std::vector<std::uint8_t>, nof_bins> payload;
    // The SNR of each bin in this slot; a receiver filters it over the slots up to this one
    // (phy/prediction/bin_power_filter.h).
    std::array<float, nof_bins> snr_db{};
    std::array<float, nof_bins> predicted_snr_db{};  // for slot air + horizon
    // Running NMSE of the predictions, as the receiver measures it; NaN: not known.
    float prediction_nmse = std::numeric_limits<float>::quiet_NaN();
    std::uint32_t combined = 0;  // bit b: bin b was detected after combining
};

}  // namespace wip
