// SPDX-License-Identifier: GPL-3.0-or-later
// The bursts that stations sent, as a fader or a channel in the transmitter reports them
// (channels/fader/station_soundings.h; neither depends on the other).
#pragma once

#include "mix/mix_config.h"
#include "schema/control.pb.h"

namespace wip::air {

template <class Soundings>
void say_bursts(const Soundings& bursts, const mix::mix_config& mix,
                openwip::control::AirStatus& a) {
    for (const auto& b : bursts) {
        auto& one = *a.add_bursts();
        one.set_from(mix.nodes[b.from].name);
        one.set_to(mix.nodes[b.to].name);
        one.set_snr_db(b.snr_db);
        one.set_not_judged(b.why_not);
        one.mutable_burst()->set_centre(b.centre);
        for (const auto& v : b.commanded.values)
            for (const double part : {v.real(), v.imag()})
                one.mutable_burst()->add_response(static_cast<float>(part));
    }
}

}  // namespace wip::air
