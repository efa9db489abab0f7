// SPDX-License-Identifier: GPL-3.0-or-later
#include "macd/packet_watch.h"

#include "station/packet_reports.h"

namespace wip::host {

packet_watch::packet_watch(int per_second, base_station_mac& mac, station_port& port)
    : mac_(&mac), port_(&port), topic_(per_second), journal_([this](const packet_record& r) {
          if (port_->telemetry().wanted(topic::packet)) topic_.add(r, 0);
      }) {}

bool packet_watch::ask(std::uint64_t watch) {
    note_.Clear();
    note_.set_packet_watch(watch);
    return port_->to_peer(note_);
}

void packet_watch::on_reports(const openwip::uplink::PacketReports& reports, slot now) {
    if (watch_ == 0 || reports.watch() != watch_) return;  // a late report of an earlier watch
    if (const char* why = read_reports(reports, now, reports_)) {
        port_->malformed("uplink", why);
        return;
    }
    if (!following_) {
        following_ = true;
        topic_.begin();
        mac_->follow_packets(&journal_);
    }
    journal_.on_reports(reports_, reports.count(), static_cast<wire_sn>(reports.decided_before()),
                        now);
}

void packet_watch::peer_came() {
    watch_ = 0;
    following_ = false;
    mac_->follow_packets(nullptr);
}

void packet_watch::slot_done(slot now) {
    done_ = now;
    const auto& out = port_->telemetry();
    const bool wanted = out.wanted(topic::packet) || out.wanted(topic::frames);
    if (wanted && watch_ == 0) {
        // If it cannot be sent because there is no peer yet, the next slot tries again.
        if (ask(last_watch_ + 1)) watch_ = ++last_watch_;
    } else if (!wanted && watch_ != 0 && ask(0)) {
        watch_ = 0;
        following_ = false;
        mac_->follow_packets(nullptr);
    }
    if (following_) topic_.slot_done(now, journal_.count().skipped, port_->telemetry());
}

void packet_watch::flush() {
    if (following_) topic_.flush(done_, journal_.count().skipped, port_->telemetry());
}

}  // namespace wip::host
