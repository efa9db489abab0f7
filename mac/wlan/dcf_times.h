// SPDX-License-Identifier: GPL-3.0-or-later
// The durations of frames and spaces on an 802.11b channel (IEEE 802.11-2016, clauses 10.3 and 16):
// frames of the DSSS and CCK PHY with a preamble and header of 192 us (long) or 96 us (short) and a
// payload of whole microseconds, and the spaces between them.
//
//   exchange   [RTS SIFS CTS SIFS] data SIFS ACK, then DIFS and backoff slots
//   failed     [RTS SIFS CTS SIFS] data, then SIFS + slot + preamble without an ACK, DIFS, backoff
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace wip::wlan {

struct dcf_times {
    static constexpr std::int64_t us = 1000;
    static constexpr std::int64_t sifs = 10 * us, slot = 20 * us, difs = sifs + 2 * slot;
    static constexpr int least_window = 31, most_doublings = 5;  // to 1023
    // MAC header, LLC/SNAP and frame check sequence around an IP packet.
    static constexpr std::size_t header_bytes = 24 + 8 + 4;
    static constexpr std::size_t rts_bytes = 20, ack_bytes = 14;  // a CTS is as long as an ACK

    std::int64_t data_kbps = 11000, control_kbps = 1000;
    std::int64_t preamble = 192 * us;
    bool late_growth = false;  // growth of the contention window (wlan_config.h)

    std::int64_t frame(std::size_t bytes, std::int64_t kbps) const {
        return preamble + (static_cast<std::int64_t>(bytes) * 8 * us + kbps - 1) / kbps * us;
    }
    std::int64_t data(std::size_t packet) const { return frame(packet + header_bytes, data_kbps); }
    std::int64_t ack() const { return frame(ack_bytes, control_kbps); }
    std::int64_t rts() const { return frame(rts_bytes, control_kbps); }
    // RTS and CTS before the data frame, with both spaces.
    std::int64_t handshake() const { return rts() + ack() + 2 * sifs; }
    // Time from the end of a frame until its sender knows that no answer comes.
    std::int64_t ack_timeout() const { return sifs + slot + preamble; }
    // EIFS less DIFS: how much longer a station waits that could not decode the last frame. The ACK
    // in EIFS is sent at the lowest rate, 1 Mbit/s.
    std::int64_t eifs_less_difs() const { return sifs + frame(ack_bytes, 1000); }

    // Slots from which a backoff is drawn after so many failures, the least being 0.
    std::int64_t window(int failures) const {
        const int doublings = std::clamp(failures - (late_growth ? 1 : 0), 0, most_doublings);
        return (std::int64_t{least_window + 1} << doublings) - 1;
    }

    // The mean time of so many attempts with a packet that all fail, without competition, in
    // nanoseconds: each attempt with what follows until the next one, the mean backoff from a
    // window that has doubled.
    double mean_failed(std::size_t packet, int attempts, bool with_rts = false) const {
        double sum = 0;
        for (int n = 1; n <= attempts; ++n)
            sum += static_cast<double>((with_rts ? handshake() : 0) + data(packet) + ack_timeout() +
                                       difs) +
                   0.5 * static_cast<double>(window(n)) * static_cast<double>(slot);
        return sum;
    }

    // The mean time of a packet without error or competition, the backoff before it included, in
    // nanoseconds. Its inverse is the highest rate of packets of one station.
    double mean_turn(std::size_t packet, bool with_rts = false) const {
        return static_cast<double>(difs + (with_rts ? handshake() : 0) + data(packet) + sifs +
                                   ack()) +
               0.5 * least_window * static_cast<double>(slot);
    }
};

}  // namespace wip::wlan
