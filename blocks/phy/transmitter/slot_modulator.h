// SPDX-License-Identifier: GPL-3.0-or-later
// One slot of 5120 samples from the grant and the frames of its bins.
#pragma once

#include <complex>
#include <cstdint>
#include <memory>
#include <span>

#include "types/frame.h"
#include "types/grant.h"
#include "types/grid.h"

namespace wip::phy {

using cf32 = std::complex<float>;

struct slot_modulator_config {
    int cell = 0;  // 0..63, selects the pilot sequence
    link_profile profile =
        link_profile::radio;  // the only one: wipemu has no frame check on the air
};

class slot_modulator {
public:
    explicit slot_modulator(const slot_modulator_config& config);  // throws std::invalid_argument
    ~slot_modulator();

    // payload[b]: nibble-packed payload of bin b, frame_payload_bytes(profile, k) bytes for a bin
    // with k = grant.bins[b].bits_per_symbol > 0, ignored for others; the CRC is appended here.
    // Unused bins carry zeros in their payload symbols; pilots and control are always sent.
    // Returns false (and sends a slot with an empty grant) when the grant does not pack or a
    // payload has the wrong size.
    // Mean level with all bins in use: nominal_transmit_level (types/db.h).
    bool work(slot air, const slot_grant& grant,
              std::span<const std::span<const std::uint8_t>, nof_bins> payload,
              std::span<cf32, slot_samples> out) noexcept;

private:
    struct state;
    std::unique_ptr<state> state_;
};

}  // namespace wip::phy
