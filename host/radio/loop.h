// SPDX-License-Identifier: GPL-3.0-or-later
// From the antenna to the program and back, on a radio's own clock: how long after its last sample
// a slot is in hand, and how long before its time a burst has to leave (lateness.h). Both at once,
// as in a station: samples arrive all the time, one burst after another is sent.
//
// Time of the radio: read from it where that is quick; else from the host's clock by readings of it
// (radio_clock.h), as the base station's flowgraph does it.
//
// A stall of the machine holds up ten slots that are received, and hardly ever the one burst:
// it shows in the reception, whose slots come by the clock; the bursts show the device.
//
// One burst is under way at a time, shorter than a packet: which of them an event is about is
// certain, on any device. With a path from transmitter to receiver one more is looked for in what
// is received, which gives the delay of the path, converters and filters among it.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "radio/device.h"

namespace wip::radio {

// `seconds` of bursts and slots at most, less when the count suffices; more until there is an
// answer.
nlohmann::json measure_loop(const usrp::sptr& radio, double seconds);

}  // namespace wip::radio
