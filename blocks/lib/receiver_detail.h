// SPDX-License-Identifier: GPL-3.0-or-later
// What the receiver saw in a slot, as the slot link carries it to those who watch.
#pragma once

#include <span>

#include "phy/receiver/slot_receiver.h"
#include "schema/slot_link.pb.h"

namespace wip {

// Without lock only the spectrum. An empty one: none was made.
void fill_detail(const phy::received_slot& received, std::span<const float> spectrum_dbfs,
                 openwip::slot_link::ReceiverDetail& out);

}  // namespace wip
