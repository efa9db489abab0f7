// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

namespace wip::sample_model {

// The range of a mean SNR, and of an SNR in a trace.
inline constexpr double lowest_snr_db = -60, highest_snr_db = 80;

}  // namespace wip::sample_model
