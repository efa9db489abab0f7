// SPDX-License-Identifier: GPL-3.0-or-later
// The bin-level channel of a definition: the fading and the large-scale gain that the sample level
// has with the same seed and purpose, as the SNR of 25 bins (bin_response.h), times the mean SNR.
// Slot s is the 5120 samples from first_sample(s) on, and symbol l is taken at the middle of its
// FFT window. Shadowing and path loss are taken at the middle of the slot, blackouts symbol by
// symbol.
#pragma once

#include <utility>

#include "bin/bin_channel.h"
#include "bin/bin_response.h"
#include "sample/channel_config.h"
#include "sample/tap_curves.h"

namespace wip::bin_model {

struct fading_config {
    sample_model::channel_config channel{};  // from profiles::realise()
    double mean_snr_db = 16;                 // dB, mean of the linear SNR; -60 to 80
    std::uint64_t seed = 1;
    std::uint32_t purpose = 0;  // number of the user
};

sample_model::motion motion_of(const fading_config& config);

// The large-scale gain of a slot, linear, which the channel and its prediction share. The gains of
// the last slots are kept, since the channel reads a slot some slots after its prediction.
class slot_gain {
public:
    explicit slot_gain(const fading_config& config);  // throws std::invalid_argument
    // The large-scale gain times the mean SNR, linear.
    float at(slot s) noexcept;

private:
    std::array<std::pair<slot, float>, 64> kept_;
    sample_model::large_scale large_scale_;
    bool steady_, blackouts_;
    float mean_snr_;
};

class fading_channel final : public bin_channel {
public:
    explicit fading_channel(const fading_config& config);  // throws std::invalid_argument

    void snr(slot s, std::span<float, nof_bins> linear) noexcept override {
        snr_and_gain(s, linear, {});
    }
    // The same, and unless `gain` is empty the mean complex gain of every bin: |gain|^2 is the SNR,
    // apart from the variation within the bin and slot.
    void snr_and_gain(slot s, std::span<float, nof_bins> linear, std::span<cf32> gain) noexcept;

    const sample_model::tap_curves& taps() const noexcept { return taps_; }
    const std::shared_ptr<slot_gain>& gain() const noexcept { return gain_; }

private:
    bin_response response_;
    sample_model::tap_curves taps_;
    std::shared_ptr<slot_gain> gain_;
};

}  // namespace wip::bin_model
