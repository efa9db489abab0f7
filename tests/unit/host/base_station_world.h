// SPDX-License-Identifier: GPL-3.0-or-later
// A base station between a flowgraph that asks and a terminal that answers.
#pragma once

#include "macd/base_station.h"
#include "macd/slot_codec.h"
#include "station_world.h"

namespace wip::host {

class BaseStation : public testing::Test {
protected:
    explicit BaseStation(const std::vector<std::string>& set = {"link.modulation=4"})
        : base(configuration("base", set), *tun.tun, port) {}

    void ask(std::int64_t air) {
        openwip::slot_link::SlotRequest r;
        r.set_air(air);
        base.on_request(r);
    }
    void hear(const openwip::uplink::Uplink& m) {
        const std::string bytes = m.SerializeAsString();
        base.on_peer({reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()});
    }
    // The terminal's word about slot `now`: everything received.
    static openwip::uplink::Uplink word(std::int64_t now) {
        openwip::uplink::Uplink m;
        m.set_now(now);
        m.set_locked(true);
        slot_feedback f{.air = slot(now), .locked = true, .grant_ok = true, .ack = 0x1ffffff};
        f.predicted_snr_db.fill(20);
        write_feedback(f, *m.mutable_feedback());
        return m;
    }
    // Slots from `first` on, in lockstep, until `last` is planned.
    void run(std::int64_t first, std::int64_t last) {
        for (std::int64_t k = first; k <= last; ++k) {
            ask(k);
            if (k - 3 >= first) hear(word(k - 3));
        }
    }
    // Goes on: every slot's message comes.
    void go_on(std::int64_t next, std::int64_t last) {
        for (std::int64_t k = next; k <= last; ++k) {
            ask(k);
            hear(word(k - 3));
        }
    }
    openwip::control::MacStatus status() const {
        openwip::control::MacStatus s;
        base.fill(s);
        return s;
    }
    std::vector<std::int64_t> planned() const {
        std::vector<std::int64_t> airs;
        for (const auto& p : port.plans) airs.push_back(p.air());
        return airs;
    }

    tun_pair tun;
    station_port_spy port;
    base_station base;
};

}  // namespace wip::host
