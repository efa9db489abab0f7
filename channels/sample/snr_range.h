// SPDX-License-Identifier: GPL-3.0-or-later
// Ranges of an SNR in dB and of a noise power in dBFS that every channel model accepts.
#pragma once

namespace wip::sample_model {

// The range of a mean SNR, and of an SNR in a trace.
inline constexpr double lowest_snr_db = -60, highest_snr_db = 80;
// The range of the noise at a receiver; its lowest value means no noise. At the nominal signal
// level the lowest SNR corresponds to a noise of 47 dBFS.
inline constexpr double lowest_noise_dbfs = -200, highest_noise_dbfs = 100;

}  // namespace wip::sample_model
