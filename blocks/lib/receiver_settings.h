// SPDX-License-Identifier: GPL-3.0-or-later
// What a running receiver can be asked to change, between two slots: combining at once, a predictor
// when it is made and has learnt.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "phy/receiver/slot_receiver.h"
#include "predictor_builder.h"
#include "schema/slot_link.pb.h"

namespace wip {

class receiver_settings {
public:
    receiver_settings(bool combining, phy::predictor_choice predictor)
        : combining_(combining), wanted_(std::move(predictor)) {}

    void change(const openwip::slot_link::ReceiverSettings& settings, phy::slot_receiver& receiver);
    // Hands over a predictor that has been made, and takes back what it replaced.
    void take_predictor(phy::slot_receiver& receiver);
    void fill(const phy::slot_receiver& receiver, openwip::receiver::State& state) const;

private:
    bool combining_;
    phy::predictor_choice wanted_;  // asked for last, of those that there are
    std::uint64_t refused_ = 0;
    predictor_builder builder_;
};

}  // namespace wip
