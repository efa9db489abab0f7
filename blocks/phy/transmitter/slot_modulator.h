// SPDX-License-Identifier: GPL-3.0-or-later
// One slot of 5120 samples: on the downlink from the grant and the frames of its bins, on the
// uplink from a terminal's feedback form and the frames that it was granted.
#pragma once

#include <complex>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "phy/coding/control_region.h"
#include "types/common_grant.h"
#include "types/frame.h"
#include "types/grant.h"
#include "types/grid.h"

namespace wip::phy {

using cf32 = std::complex<float>;

// Longest edge in samples: the part of a prefix before the FFT window of a receiver
// (slot_extractor.h).
inline constexpr int most_edge_samples = 40;

struct slot_modulator_config {
    int cell = 0;                   // 0..63, selects the sequences
    std::optional<int> terminal{};  // 0..7: a terminal of that cell sends; none: its base station
    control_kind control = control_kind::grant;  // a base station may have common_grant
    link_profile profile =
        link_profile::radio;  // the only one: wipemu has no frame check on the air
    // Symbols fade into each other over so many samples, as raised cosines: each begins within its
    // prefix while the one before, continued cyclically, ends. The spectrum falls off faster beside
    // the carrier (16: 53 dB adjacent-channel leakage instead of 36); paths may come so much less
    // later. 0: hard edges.
    int edge_samples = 0;
};

class slot_modulator {
public:
    explicit slot_modulator(const slot_modulator_config& config);  // throws std::invalid_argument
    ~slot_modulator();
    slot_modulator(slot_modulator&&) noexcept;
    slot_modulator& operator=(slot_modulator&&) noexcept;

    // payload[b]: nibble-packed payload of bin b, frame_payload_bytes(profile, k) bytes for a bin
    // with k = grant.bins[b].bits_per_symbol > 0, ignored for others; the CRC is appended here.
    // Unused bins carry zeros in their payload symbols; pilots and control are always sent.
    // Returns false (and sends a slot with an empty grant) when the grant does not pack or a
    // payload has the wrong size.
    // With edges, a slot that follows the last one given continues it; any other fades in.
    // Mean level with all bins in use: nominal_transmit_level (types/db.h).
    bool work(slot air, const slot_grant& grant,
              std::span<const std::span<const std::uint8_t>, nof_bins> payload,
              std::span<cf32, slot_samples> out) noexcept;

    // The same for a grant that is packed already: `packed` is `grant`, but for the frame number,
    // which is set to that of `air`.
    bool work(slot air, const slot_grant& grant, packed_grant packed,
              std::span<const std::span<const std::uint8_t>, nof_bins> payload,
              std::span<cf32, slot_samples> out) noexcept;

    // The uplink: `form` is sent as it is. `units`: of the bins in use the modulation, and the SN
    // by which the frame is scrambled; `payload` as above. Returns false, and sends the form alone,
    // when a payload has the wrong size.
    bool work_uplink(slot air, const control_content& form, const slot_grant& units,
                     std::span<const std::span<const std::uint8_t>, nof_bins> payload,
                     std::span<cf32, slot_samples> out) noexcept;

    // With `control` common_grant: the sections of the terminals that are served. No bin is used
    // in two.
    bool work(slot air, const common_grant_sections& grants,
              std::span<const std::span<const std::uint8_t>, nof_bins> payload,
              std::span<cf32, slot_samples> out) noexcept;

private:
    struct state;
    std::unique_ptr<state> state_;
};

}  // namespace wip::phy
