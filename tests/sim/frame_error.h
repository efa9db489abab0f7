// SPDX-License-Identifier: GPL-3.0-or-later
// P(all 108 symbols right) of k = 1..8 bits per symbol at a linear SNR, from a grid of 0.1 dB.
#pragma once

namespace wip::sim {

double frame_ok(int bits_per_symbol, double snr);

}  // namespace wip::sim
