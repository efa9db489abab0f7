// SPDX-License-Identifier: GPL-3.0-or-later
// Measures the effect of a fader's radios on a signal besides the channel. For it the stations are
// off, and a cable with its attenuator leads from the transmitter at a path's end to the receiver
// at its beginning:
//
//   delay   of a known burst, to the sample, at each of 20 starts of both streams
//   gain    of a tone at -10, -20 and -30 dBFS
//   noise   in 7.68 MHz while nothing is sent; the constant then, and with the tone
//   image   of both mixers together, below the tone
#pragma once

#include <nlohmann/json.hpp>
#include <vector>

#include "cabled/fader_config.h"
#include "fader/fading_radio.h"

namespace wip::cabled {

// One radio for each node. Returns [{"from": ..., "to": ..., "heard": ..., ...}], by path. Throws
// machine_error when samples are lost.
nlohmann::json calibrate(const fader_config& config, const std::vector<fading_radio*>& radios);

}  // namespace wip::cabled
