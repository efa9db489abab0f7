// SPDX-License-Identifier: GPL-3.0-or-later
// The messages that the slot receiver publishes on its message ports
// (include/gnuradio/wip/slot_receiver.h).
#pragma once

#include <pmt/pmt.h>

#include <cstdint>

#include "phy/receiver/received_slot.h"
#include "phy/sync/gain_control.h"

namespace wip {

pmt::pmt_t slot_message(const phy::received_slot& received, std::int64_t air);
// Null when no bin was decided.
pmt::pmt_t symbols_message(const phy::received_slot& received, std::int64_t air);
pmt::pmt_t gain_message(const phy::gain_change& change);

}  // namespace wip
