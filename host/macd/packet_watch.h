// SPDX-License-Identifier: GPL-3.0-or-later
// The base station's side of the packets' delays: while somebody listens, the terminal is asked for
// its reports, the journal joins the two halves, and topic `packet` gets the records. A watch
// begins when the terminal's first reports of it come, so that no packet is followed whose report
// the terminal did not know it had to say; its number keeps reports of an earlier watch out.
#pragma once

#include <vector>

#include "link/base_station_mac.h"
#include "macd/station.h"
#include "station/packet_topic.h"

namespace wip::host {

class packet_watch {
public:
    packet_watch(int per_second, base_station_mac& mac, station_port& port);
    ~packet_watch() { flush(); }
    packet_watch(const packet_watch&) = delete;
    packet_watch& operator=(const packet_watch&) = delete;

    void set_rate(int per_second) { topic_.set_rate(per_second); }
    // Sample time of the packets that come and of the plan that is made next. `wired_ns`: a packet
    // was so long in the wired network.
    void set_now(std::int64_t ns, std::int64_t wired_ns = 0) { journal_.set_now(ns, wired_ns); }
    // The terminal's reports, said at the end of slot `now`.
    void on_reports(const openwip::uplink::PacketReports& reports, slot now);
    // Another terminal: it is asked anew.
    void peer_came();
    // After each plan: asks the terminal to begin or to end, publishes.
    void slot_done(slot now);
    // Publishes the records that wait, as of that slot.
    void flush();

    // packets_in(): whose packets a frame holds, while topic `packet` or `frames` is wanted.
    const packet_journal& journal() const { return journal_; }

private:
    bool ask(std::uint64_t watch);

    base_station_mac* mac_;
    station_port* port_;
    packet_topic topic_;
    packet_journal journal_;
    std::uint64_t watch_ = 0;       // asked for; 0: none
    std::uint64_t last_watch_ = 0;  // the number used last
    bool following_ = false;
    slot done_;  // the last one
    openwip::uplink::DownlinkControl note_;
    std::vector<packet_report> reports_;
};

}  // namespace wip::host
