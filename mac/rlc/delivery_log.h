// SPDX-License-Identifier: GPL-3.0-or-later
// The terminal's half of a packet's way: a report about every packet that was delivered or lost.
// The base station joins it to its own half (journal/packet_journal.h). The key of the two halves
// is the place of the packet's first nibble in the stream: SN modulo 2^16 (the terminal does not
// know the SNs' multiple of 2^16) and nibble, which both ends know exactly.
//
// Bounded: what does not fit until the reports are taken is counted but not kept, and the count
// tells the base station that reports are missing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "types/frame.h"

namespace wip {

enum class packet_end : std::uint8_t {
    delivered,
    damaged,  // delivered with bit errors
    lost,     // a frame of it is lost for good
    refused,  // complete, but its interface did not take it
};

struct packet_report {
    wire_sn sn = 0;           // SN of the frame with the packet's first nibble
    std::uint8_t nibble = 0;  // its place in that frame
    packet_end end = packet_end::delivered;
    std::uint32_t bytes = 0;  // 0: its length is not known
    // Slot with which all of it was there (or: that its first lost frame was lost), and the frame
    // that was the last to come.
    std::int64_t complete = 0;
    wire_sn last_frame = 0;
    std::int32_t error = 0;  // errno of the interface
};

class delivery_log {
public:
    explicit delivery_log(std::size_t capacity) : capacity_(capacity) {
        reports_.reserve(capacity);
    }

    void add(const packet_report& report) {
        ++count_;
        if (reports_.size() < capacity_) reports_.push_back(report);
    }
    // The interface did not take the packet that add() was last called for.
    void refuse_last(int error) { refuse(count_, error); }
    // The interface did not take the packet of the nth report (count() right after its add()).
    // Without effect if that report has been taken already.
    void refuse(std::uint64_t nth, int error) {
        if (nth <= taken_ || nth - taken_ > reports_.size()) return;
        packet_report& report = reports_[static_cast<std::size_t>(nth - taken_ - 1)];
        report.end = packet_end::refused;
        report.error = error;
    }

    // The reports since the last clear(), oldest first; count() is the number of all reports so
    // far, kept or not.
    std::span<const packet_report> reports() const { return reports_; }
    std::uint64_t count() const { return count_; }
    void clear() {
        reports_.clear();
        taken_ = count_;
    }
    void restart() {
        reports_.clear();
        count_ = taken_ = 0;
    }

private:
    std::size_t capacity_;
    std::vector<packet_report> reports_;
    std::uint64_t count_ = 0;
    std::uint64_t taken_ = 0;  // count() at the last clear()
};

}  // namespace wip
