// SPDX-License-Identifier: GPL-3.0-or-later
// Joins the base station's journal of sent packets with the terminal's reports of received ones:
// the records of each packet's delay, which topic `packet` publishes. The terminal reports only
// while somebody has subscribed to the topic. Each subscription has a number, so late reports of an
// earlier one are ignored. Only packets are followed that are sent after the terminal's first
// report, since the terminal has not looked for the others.
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
    // Sets the sample time of the packets that come and of the plan that is made next. `wired_ns`:
    // how long a packet was in the wired network.
    void set_now(std::int64_t ns, std::int64_t wired_ns = 0) { journal_.set_now(ns, wired_ns); }
    // The terminal's reports, sent at the end of slot `now`.
    void on_reports(const openwip::uplink::PacketReports& reports, slot now);
    // Another terminal has come, which is sent the request anew.
    void peer_came();
    // Asks the terminal to begin or to end, and publishes. Call after each plan.
    void slot_done(slot now);
    // Publishes the records that wait, as of that slot.
    void flush();

    // The journal also knows whose packets a frame holds (packet_journal::packets_in), as long as
    // topic `packet` or `frames` is subscribed to.
    const packet_journal& journal() const { return journal_; }

private:
    bool ask(std::uint64_t watch);

    base_station_mac* mac_;
    station_port* port_;
    packet_topic topic_;
    packet_journal journal_;
    std::uint64_t watch_ = 0;       // number of the present watch; 0: none
    std::uint64_t last_watch_ = 0;  // number used last
    bool following_ = false;
    slot done_;  // the last slot done
    openwip::uplink::DownlinkControl note_;
    std::vector<packet_report> reports_;
};

}  // namespace wip::host
