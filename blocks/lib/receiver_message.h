// SPDX-License-Identifier: GPL-3.0-or-later
// Makes the receiver's messages: about a slot and about itself. Also makes its state as names and
// values, for callers without protobuf.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <variant>

#include "phy/receiver/received_slot.h"
#include "schema/receiver.pb.h"
#include "schema/slot_link.pb.h"

namespace wip {

// Fills in everything but state and detail.
void fill_report(const phy::received_slot& received, std::int64_t air,
                 openwip::slot_link::SlotReport& out);
// Fills in everything that the PHY knows; the other fields of `out` stay as they are. Allocates
// nothing once `out` has had a mode.
void fill_state(const phy::receiver_state& state, openwip::receiver::State& out);

// Fills in the details of the slot, for observers: without lock only the spectrum, which is empty
// if none was made.
void fill_detail(const phy::received_slot& received, std::span<const float> spectrum_dbfs,
                 openwip::slot_link::ReceiverDetail& out);

using named_values = std::map<std::string, std::variant<bool, std::int64_t, double, std::string>>;
named_values values_of(const openwip::receiver::State& state);

}  // namespace wip
