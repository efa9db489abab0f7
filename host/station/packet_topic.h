// SPDX-License-Identifier: GPL-3.0-or-later
// Topic `packet`: the records of the packet journals in batches of 10 ms, at most so many a second.
// Records beyond that are counted as skipped, together with those that the journals skipped.
#pragma once

#include <cstdint>

#include "journal/packet_record.h"
#include "runtime/telemetry_port.h"

namespace wip::host {

class packet_topic {
public:
    explicit packet_topic(int per_second) { set_rate(per_second); }

    void set_rate(int per_second) { per_second_ = per_second; }
    // A new watch: nothing skipped, a second's worth may come at once.
    void begin();
    void add(const packet_record& r, int user);
    // Called once in each slot; publishes when it is time. `skipped`: packets skipped by the
    // journals so far.
    void slot_done(slot now, std::uint64_t skipped, telemetry_port& out);
    // Publishes what waits.
    void flush(slot now, std::uint64_t skipped, telemetry_port& out);

private:
    int per_second_ = 0;
    std::int64_t credit_ = 0;  // 1/1500 of a record; a slot brings per_second_ of them
    std::uint64_t skipped_ = 0, reported_skipped_ = 0;
    openwip::telemetry::PacketBatch batch_;
};

void fill_packet(const packet_record& r, int user, openwip::telemetry::PacketRecord& out);

}  // namespace wip::host
