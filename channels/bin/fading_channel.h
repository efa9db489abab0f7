// SPDX-License-Identifier: GPL-3.0-or-later
// The bin-level channel of a delay profile that moves: the fading that tapped_delay_line puts on
// samples with the same seed and purpose, as the SNR of 25 bins (bin_response.h), times the mean
// SNR. Slot s is the 5120 samples from first_sample(s) on, and symbol l is taken at the middle of
// the part that the FFT sees.
#pragma once

#include "bin/bin_channel.h"
#include "bin/bin_response.h"
#include "bin/tap_track.h"

namespace wip::bin_model {

struct fading_config {
    sample_model::delay_profile profile{};
    double doppler_hz = 0;
    double mean_snr_db = 16;  // of the linear SNR; -60 to 80
    std::uint64_t seed = 1;
    std::uint32_t purpose = 0;
};

class fading_channel final : public bin_channel {
public:
    explicit fading_channel(const fading_config& config);  // throws std::invalid_argument

    void snr(slot s, std::span<float, nof_bins> linear) noexcept override;
    // The same with the mean complex gain of every bin, mean power 1 times the large-scale gain.
    void snr_and_gain(slot s, std::span<float, nof_bins> linear,
                      std::span<cf32, nof_bins> gain) noexcept;

private:
    void compute(slot s, std::span<float, nof_bins> linear, std::span<cf32> gain) noexcept;

    bin_response response_;
    tap_track taps_;
    float mean_snr_;
};

}  // namespace wip::bin_model
