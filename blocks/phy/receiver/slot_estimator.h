// SPDX-License-Identifier: GPL-3.0-or-later
// The information of one slot: pilots, channel, grant, noise and the SNR of every bin.
//
// The slot is that of a base station, or that of a terminal on the uplink (control_kind).
//
//   elements -> channel from the pilots -> control region decoded with it
//            -> channel from pilots and control symbols -> noise, SNR of the bins, mean gains
//
// The SNR is that of the slot alone (bin_power_filter.h takes in the slots before).
//
// slot_receiver does this for every slot, the GNU Radio block channel_estimator too.
//
// Noise variance per element: mean over 32 slots of the residual of the channel's fit. The fit to
// the pilots alone leaves few degrees of freedom and counts a quarter; but where no grant decodes
// it is all there is, and the noise may have risen. The channel's curvature over the slot, which
// the fit does not have, is part of the residual and taken off.
//
// Interference that fills a few bins only is seen as theirs: residuals of each bin over the last 64
// slots or so (about 600 degrees of freedom, a spread of 0.2 dB), against the median of the bins. A
// bin that is 2 dB above it has its own noise; the noise of the band is that of the others. All
// other bins share it, which is 25 times as accurate.
#pragma once

#include <array>
#include <complex>
#include <cstdint>
#include <optional>
#include <span>

#include "phy/coding/control_region.h"
#include "phy/estimation/channel_estimator.h"
#include "phy/estimation/decision_feedback.h"
#include "phy/estimation/pilot_score.h"
#include "phy/grid/pilots.h"
#include "phy/prediction/bin_power_filter.h"
#include "phy/prediction/snr_predictor.h"
#include "types/common_grant.h"
#include "types/db.h"
#include "types/grant.h"

namespace wip::phy {

using channel_row = std::array<cf32, nof_subcarriers>;

// Means of the channel over each bin with the steps of the tracking loops taken out again (see
// tracking.h): `turn` of the CFO in radians, `shift` of the timing in samples. `window`: samples by
// which the timing is later than the mean delay; the mean over a bin is that of a channel about its
// mean delay.
std::array<cf32, nof_bins> mean_gains(std::span<const cf32, nof_subcarriers> channel, double turn,
                                      double shift, int window = 0) noexcept;

// Range in which SNR is reported, -20 .. 60 dB; the lower end also stands for nothing received.
inline constexpr float least_snr_db = -20;
db reported_snr(float ratio) noexcept;

class slot_estimator {
public:
    // `terminal`: the one whose part of a common grant is read. Throws std::invalid_argument.
    explicit slot_estimator(sender from, control_kind kind = control_kind::grant, int terminal = 0);
    void reset() noexcept;
    void set_sender(sender from) noexcept;

    // False when the slot holds nothing that can be measured (zeros, infinities). `due`:
    // constraints on its grant, where they are known (control_region.h). `image`: sent_image.h.
    bool estimate(const slot_planes& y, int slot_in_frame, const std::optional<grant_due>& due = {},
                  cf32 image = {}) noexcept;

    // The energy of the last slot that was estimated.
    float energy() const noexcept { return energy_; }  // sum |y|^2
    // The terminal's grant. In a cell with several terminals it is this terminal's section of the
    // common grant.
    const std::optional<slot_grant>& grant() const noexcept { return grant_; }
    // Whether the control region was decoded; on the downlink there is a grant then. packed() is
    // valid then.
    bool control_ok() const noexcept { return control_ok_; }
    const control_content& packed() const noexcept { return packed_; }
    // Soft bits of the control region in the order of its code, and the factor that makes them log
    // likelihood ratios, which depends on the noise and the error of the channel estimate from the
    // pilots.
    std::span<const float, code_sent_bits> control_bits() const noexcept { return control_bits_; }
    float control_scale() const noexcept;
    double evm_percent() const noexcept { return evm_percent_; }  // control symbols, last decoded
    const channel_estimate& channel() const noexcept { return channel_; }
    // The input of a second pass over the slot; only with control_ok().
    known_symbols known() const noexcept {
        return {pilots_.of(slot_in_frame_).data(), known_.data(), &estimator_.basis(), signal_,
                image_ == cf32() ? nullptr : &image_};
    }
    const channel_row& middle() const noexcept { return middle_; }  // channel at the slot's middle
    float noise() const noexcept { return noise_; }  // of the bins without interference
    const std::array<float, nof_bins>& bin_noise() const noexcept { return bin_noise_; }
    const std::array<float, nof_bins>& power() const noexcept { return power_; }  // mean |h|^2
    const std::array<float, nof_bins>& snr() const noexcept { return snr_; }      // linear
    // The predictor learns from these gains; `turn`, `shift` and `window` as in mean_gains().
    bin_measurement measurement(double turn, double shift, int window = 0) const noexcept;
    // The filter of the bins' power sees these points; in the units of measurement().
    band_points points(double turn, double shift) const noexcept;
    // The level of the signal has changed by this power ratio and the SNR has not: multiplies the
    // learned noise and power, and the noise of the last slot, by it.
    void rescale(float factor) noexcept;
    // Elements divided by the channel, 6 x 500; with `noise`: with least mean square error.
    void equalise(const slot_planes& y, cf32* out, float noise = 0) const noexcept;

private:
    cf32 at(int symbol, int n) const noexcept;
    void decode_control(const slot_planes& y, int slot_in_frame,
                        const std::optional<grant_due>& due) noexcept;
    std::optional<slot_grant> read_grant() const noexcept;
    void add_image(const slot_planes& y) noexcept;
    void update_noise() noexcept;
    void forget_noise() noexcept;
    void find_interference() noexcept;
    static float curvature_power(const channel_estimate& channel) noexcept;
    void measure_snr() noexcept;

    control_kind kind_;
    std::size_t terminal_;
    pilots pilots_;
    control_region control_;
    channel_estimator estimator_;
    channel_estimate channel_;
    channel_row middle_{};
    control_symbols known_;
    cf32 image_;
    std::array<cf32, symbols_per_slot * nof_subcarriers> sent_;
    std::array<cf32, nof_known> with_image_;  // pilots, control symbols; divided by their power
    std::array<float, code_sent_bits> control_bits_{};
    float pilots_error_ = 0;  // channel_estimate::error of the estimate that they were made with
    std::optional<slot_grant> grant_;
    bool control_ok_ = false;
    control_content packed_{};
    int slot_in_frame_ = 0;
    double evm_percent_ = 0;
    float energy_ = 0;
    float noise_ = 0;
    std::array<float, nof_bins> residual_{}, freedom_{};  // sums with exponential forgetting
    std::array<float, nof_bins> excess_{};                // noise of the bin over that of the band
    std::array<float, nof_bins> bin_noise_{};
    float signal_ = 0;  // mean channel power, smoothed as the noise is
    int noise_slots_ = 0;
    std::array<float, nof_bins> power_{}, snr_{};
};

}  // namespace wip::phy
