// SPDX-License-Identifier: GPL-3.0-or-later
// Settings of the receiver that were changed since the start: told to the flowgraph, and told again
// every tenth state (a tenth of a second) until its state says that they hold, or that it does not
// know them.
#pragma once

#include "app/station.h"

namespace wip::host {

class receiver_control {
public:
    // To be changed, then tell().
    openwip::slot_link::ReceiverSettings& settings() { return *message_.mutable_receiver(); }

    void tell(station_port& port) {
        if (!message_.has_receiver()) return;
        port.to_flowgraph(message_);
        waiting_ = true;
        states_ = 0;
    }
    void follow(const openwip::slot_link::ReceiverState& state, station_port& port) {
        const bool refused = state.settings_refused() > refused_;
        refused_ = state.settings_refused();
        if (!waiting_) return;
        const auto& s = message_.receiver();
        waiting_ = !refused && ((s.has_combining() && s.combining() != state.combining()) ||
                                (s.has_predictor() && s.predictor() != state.predictor()) ||
                                (s.has_horizon() && s.horizon() != state.horizon()));
        if (waiting_ && ++states_ % 10 == 0) port.to_flowgraph(message_);
    }

private:
    openwip::slot_link::ToFlowgraph message_;
    bool waiting_ = false;
    unsigned states_ = 0;
    std::uint64_t refused_ = 0;
};

}  // namespace wip::host
