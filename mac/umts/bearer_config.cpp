// SPDX-License-Identifier: GPL-3.0-or-later
#include "umts/bearer_config.h"

#include <algorithm>
#include <string>
#include <utility>

#include "types/require.h"

namespace wip::umts {

void bearer_config::check() const {
    const auto& p = profile;
    check_range("the transmission time interval (TTI) of the bearer in ms", p.tti_ms, 1, 80);
    for (const auto& [key, kbps] :
         {std::pair("umts.down_kbps", p.kbps_down), {"umts.up_kbps", p.kbps_up}})
        check_range(key, kbps, 1, 20000);
    for (const auto& [key, block] : {std::pair("size of a downlink block in octets", p.block_down),
                                     {"size of an uplink block in octets", p.block_up}})
        check_range(key, block, 6, 4998);
    const double least_ms = p.radio_ms + 1.5 * p.tti_ms;
    require(p.one_way_ms >= least_ms && p.one_way_ms <= 60000, "umts.one_way_ms", p.one_way_ms,
            text_of(least_ms) + " (umts.radio_ms and 1.5 TTI)..60000");
    if (mode == rlc_mode::transparent && !control.always_dch)
        refuse("umts.rrc", "states",
               "dch with umts.mode = tm, as a FACH has no interval for a whole packet");
    const bool asks = mode == rlc_mode::acknowledged && outcome == feedback::status;
    if (asks && !rlc.poll_last && rlc.poll_period_ns == 0)
        refuse("umts.poll_last", "off",
               "on, or umts.poll_period_ms more than 0, as else nobody asks for the last PDU of "
               "all when it is lost");
    if (asks && rlc.poll_timer_ns == 0 && rlc.poll_period_ns == 0 &&
        rlc.discard != discard_mode::timer)
        refuse("umts.poll_timer_ms", "0",
               "more than 0, or umts.poll_period_ms more than 0, or umts.discard = timer, as else "
               "nobody asks again when the last poll or its status is lost");
    // A status is sent before data. If its period is two PDUs of the slower direction, one of the
    // two is left for data.
    double pdu_ms = p.tti_ms;
    for (const auto& [kbps, block] :
         {std::pair(p.kbps_down, p.block_down), {p.kbps_up, p.block_up}})
        pdu_ms = std::max(
            pdu_ms, block * 8 / (control.always_dch ? kbps : std::min(kbps, control.fach_kbps)));
    const double period_ms = static_cast<double>(rlc.status_period_ns) * 1e-6;
    require(period_ms == 0 || period_ms >= 2 * pdu_ms, "umts.status_period_ms", period_ms,
            "0, or " + text_of(2 * pdu_ms) + " and more, as else data has no room");
    require(granted_window >= 0 && granted_window <= rlc.window, "umts.receiver_window",
            granted_window, "0.." + std::to_string(rlc.window) + " (umts.window)");
    require(p.radio_ms >= 0, "umts.radio_ms", p.radio_ms, "0..umts.one_way_ms less 1.5 TTI");
    require(again_ns >= 0 && again_ns <= 60'000'000'000, "umts.again_ms",
            static_cast<double>(again_ns) * 1e-6, "0..60000");
    errors_down.check();
    errors_up.check("up_");
    control.check();
    rlc.check();
}

}  // namespace wip::umts
