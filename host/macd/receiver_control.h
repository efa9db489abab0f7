// SPDX-License-Identifier: GPL-3.0-or-later
// Settings of the receiver that were changed since the start: sent to the flowgraph, and sent again
// at every tenth of its states (a tenth of a second) in which they do not hold, unless it does not
// know them. They are sent even if a state has them already: after a change and one back to the
// former value, a state has the wanted value from the start, whether or not the second change has
// arrived.
#pragma once

#include "macd/station.h"

namespace wip::host {

class receiver_control {
public:
    // The settings, to be changed by the caller, who then calls tell().
    openwip::slot_link::ReceiverSettings& settings() { return *message_.mutable_receiver(); }

    void tell(station_port& port) {
        if (!message_.has_receiver()) return;
        port.to_flowgraph(message_);
        sent_ = true;
        states_ = 0;
    }
    void follow(const openwip::receiver::State& state, station_port& port) {
        if (state.settings_refused() > refused_) sent_ = false;
        refused_ = state.settings_refused();
        if (!sent_) return;
        const auto& s = message_.receiver();
        const bool hold = (!s.has_combining() || s.combining() == state.combining()) &&
                          (!s.has_predictor() || s.predictor() == state.predictor()) &&
                          (!s.has_horizon() || s.horizon() == state.horizon());
        states_ = hold ? 0 : states_ + 1;
        if (!hold && states_ % 10 == 0) port.to_flowgraph(message_);
    }

private:
    openwip::slot_link::ToFlowgraph message_;
    bool sent_ = false;    // sent, and not refused since
    unsigned states_ = 0;  // consecutive states in which the settings do not hold
    std::uint64_t refused_ = 0;
};

}  // namespace wip::host
