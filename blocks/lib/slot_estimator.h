// SPDX-License-Identifier: GPL-3.0-or-later
// wip::phy's channel estimator and control region put together as phy::slot_receiver does it: an
// estimate from the pilots, with it the control symbols, and from all known elements the estimate
// that counts. tests/flowgraph/qa_receiver_chain.py holds the outcome against phy::slot_receiver.
#pragma once

#include <array>
#include <complex>

#include "phy/channel_estimator.h"
#include "phy/control_region.h"
#include "phy/pilots.h"
#include "resource_copy.h"

namespace wip {

class slot_estimator {
public:
    explicit slot_estimator(int cell);  // throws std::invalid_argument
    void reset() noexcept;

    // False when the slot holds nothing that can be measured.
    bool estimate(const slot_planes& y, int slot_in_frame) noexcept;

    bool grant_ok() const noexcept { return grant_ok_; }
    const phy::channel_estimate& channel() const noexcept { return channel_; }
    float noise() const noexcept { return noise_; }  // variance per element, mean over ~32 slots
    // Linear, of each bin.
    const std::array<float, nof_bins>& snr() const noexcept { return snr_; }
    // Elements divided by the channel: 6 x 500.
    void equalise(const slot_planes& y, std::complex<float>* out) const noexcept;

private:
    // Channel of an element.
    phy::cf32 at(int symbol, int n) const noexcept;
    bool decode_control(const slot_planes& y, int slot_in_frame) noexcept;
    void measure_snr() noexcept;

    phy::pilots pilots_;
    phy::control_region control_;
    phy::channel_estimator estimator_;
    phy::channel_estimate channel_;
    phy::control_symbols known_;
    bool grant_ok_ = false;
    float noise_ = 0, signal_ = 0;
    int noise_slots_ = 0;
    std::array<float, nof_bins> snr_{};
};

}  // namespace wip
