// SPDX-License-Identifier: GPL-3.0-or-later
// Topic `frames`: the link frames with their payload, as the base station sends them and as the
// terminal receives them, gathered over the slots of a batch. A column for each field: 25 frames a
// slot as messages of their own were most of what telemetry cost.
#pragma once

#include <array>
#include <string>

#include "journal/packet_journal.h"
#include "link/slot_record.h"
#include "port/link_port.h"
#include "runtime/batch_window.h"
#include "runtime/telemetry_port.h"
#include "types/bin.h"
#include "types/db.h"

namespace wip::host {

class frame_log {
public:
    frame_log(telemetry_port& port, link_profile profile, int user = 0)
        : port_(&port), profile_(profile), user_(user) {}
    ~frame_log() { flush(); }
    frame_log(const frame_log&) = delete;
    frame_log& operator=(const frame_log&) = delete;

    // Adds the frames of one slot, if it has any. `grant`: the 30 bytes that were sent or received;
    // empty where there are none (the profile wipemu).
    // `journal` tells which packets they hold.
    void add(const slot_plan& plan, const std::string& grant, const slot_record& record,
             const packet_journal& journal);
    void add(const slot_report& report, const std::string& grant);
    // Publishes when it is time.
    void slot_done(slot now) {
        if (window_.due(now, bytes_)) send();
    }
    // Publishes what waits, as of the last slot that was done.
    void flush() {
        if (bytes_ != 0) send();
    }

private:
    // The entries of one slot, a byte for each frame.
    struct column {
        template <class Value>
        void put(Value v) {
            bytes[entries++] = static_cast<char>(v);
        }
        void append_to(std::string& out) {
            out.append(bytes.data(), entries);
            entries = 0;
        }
        std::array<char, nof_bins> bytes;
        std::size_t entries = 0;
    };

    void add_frame(const bin_grant& g, bin_index bin, std::uint8_t retransmissions, db snr,
                   std::span<const std::uint8_t> payload);
    void close_slot(slot air, const std::string& grant);
    void send();

    telemetry_port* port_;
    link_profile profile_;
    int user_;
    batch_window window_;
    openwip::telemetry::FrameBatch batch_;
    column bin_, bits_, offset_, whole_, last_, retransmissions_, outcome_, combined_, nof_packets_,
        border_;
    std::size_t bytes_ = 0;     // bytes that wait; 0: nothing waits
    std::uint64_t frames_ = 0;  // frames in the messages before this one
};

}  // namespace wip::host
