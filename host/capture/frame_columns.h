// SPDX-License-Identifier: GPL-3.0-or-later
// The frames of a message of topic `frames`, one by one out of its columns.
#pragma once

#include <cstdint>
#include <span>

#include "schema/telemetry.pb.h"
#include "types/frame_outcome.h"
#include "types/grant.h"

namespace wip::capture {

struct link_frame {
    std::uint8_t bin = 0, bits_per_symbol = 0, offset = 0, retransmissions = 0;
    frame_outcome outcome = frame_outcome::unused;  // unused for a frame that was sent
    bool whole = false, last = false, combined = false;
    std::uint16_t sn = 0;
    std::uint8_t border = unknown_boundary;
    float snr_db = 0;
    std::uint16_t payload_bits = 0;
    std::span<const char> payload;
    std::span<const std::uint64_t> packets;
};

// Reads in the order of slots and bins: next() as often as the slots say that there are frames.
class frame_columns {
public:
    // The columns are of one length, and payload and packets are as long as they say. Those that a
    // publisher leaves empty may be. Every outcome is one that there is.
    static bool well_formed(const openwip::telemetry::FrameBatch& batch);

    // `batch` is well formed, and lives as long as this.
    explicit frame_columns(const openwip::telemetry::FrameBatch& batch) : batch_(&batch) {}
    link_frame next();

private:
    const openwip::telemetry::FrameBatch* batch_;
    int at_ = 0;
    std::size_t payload_at_ = 0, packet_at_ = 0;
};

}  // namespace wip::capture
