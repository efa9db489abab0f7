// SPDX-License-Identifier: GPL-3.0-or-later
// A base station with a terminal whose answers the test gives. Time starts at slot 150; the
// terminal has been heard before, so data goes out from the first slot on.
#pragma once

#include <cstdint>

#include "link/base_station_mac.h"
#include "packets.h"

namespace wip::test {

class informed_base_station {
public:
    explicit informed_base_station(link_config c) : config(c), mac(c) {
        for (int j = 150 - c.retransmission_delay_slots; j < 150; ++j) hear(j, 0, 20.0F);
    }
    void hear(std::int64_t j, std::uint32_t ack, float snr, bool grant_ok = true) {
        slot_feedback f;
        f.air = slot(j);
        f.locked = true;
        f.grant_ok = grant_ok;
        f.ack = ack;
        f.predicted_snr_db.fill(snr);
        f.prediction_nmse = nmse;
        mac.on_feedback(f);
    }
    void give(int packets, std::size_t bytes = 1500) {
        for (int i = 0; i < packets; ++i) mac.on_sdu(ipv4(bytes), slot(now));
    }
    // The next slot; its frames are acknowledged but for the bins in `fail`.
    slot_plan step(std::uint32_t fail = 0, float snr = 20.0F) {
        const slot_plan p = mac.plan(slot(now));
        std::uint32_t used = 0;
        for (std::size_t b = 0; b < nof_bins; ++b)
            if (p.grant.bins[b].bits_per_symbol != 0) used |= 1U << b;
        hear(now, used & ~fail, snr);
        ++now;
        return p;
    }
    const base_statistics& stats() const { return mac.statistics(); }

    link_config config;
    base_station_mac mac;
    std::int64_t now = 150;
    float nmse = slot_feedback{}.prediction_nmse;
};

}  // namespace wip::test
