// SPDX-License-Identifier: GPL-3.0-or-later
// The settings that a running receiver takes over between two slots: combining at once, a predictor
// as soon as it is made and has learnt.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "extension/own_predictors.h"
#include "phy/receiver/slot_receiver.h"
#include "predictor_builder.h"
#include "schema/slot_link.pb.h"

namespace wip {

class receiver_settings {
public:
    // `own`: makes the predictors, which may be code of the user's own. Such code is loaded when
    // the receiver is made; a running receiver can only change its horizon.
    receiver_settings(bool combining, phy::predictor_choice predictor,
                      extension::own_predictors& own)
        : combining_(combining),
          first_method_(predictor.method),
          wanted_(std::move(predictor)),
          own_(&own),
          builder_([&own](std::string_view name, int horizon) {
              return own.try_to_make(name, horizon);
          }) {}

    void change(const openwip::slot_link::ReceiverSettings& settings, phy::slot_receiver& receiver);
    // Hands over a predictor that has been made, and takes back what it replaced.
    void take_predictor(phy::slot_receiver& receiver);
    void fill(const phy::slot_receiver& receiver, openwip::receiver::State& state);

private:
    bool is_allowed(const phy::predictor_choice& wanted) const;

    bool combining_;
    const std::string first_method_;
    phy::predictor_choice wanted_;  // the last request that could be fulfilled
    std::uint64_t refused_ = 0;
    const extension::own_predictors* own_;
    openwip::receiver::OwnRule cost_;  // as of some slots ago
    int slots_since_cost_ = 0;
    predictor_builder builder_;
};

}  // namespace wip
