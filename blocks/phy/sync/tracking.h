// SPDX-License-Identifier: GPL-3.0-or-later
// Timing and CFO of a locked receiver, followed from the channel estimates of its slots.
//
// Timing: the mean delay of the channel is the phase step over five subcarriers, from the sum of
// conj(h[n]) h[n+5]. CFO: from the phase between slots, the sum of conj(h_before[n]) h_now[n], good
// for +-750 Hz; in the first slots after acquisition, from the slope of the channel within the
// slot. Both sums run over a window of slots before they become an angle, so a slot counts by its
// power and a fade does not shake the loops; Doppler, symmetrical around zero, averages out. Timing
// has a second integrator (sampling clocks off by 10 ppm move a slot by 0.05 samples), so that a
// constant drift leaves no lag. Its gain K falls to 1/8 for every 8 slots (43 ms): the mean delay
// of a fading channel wanders by a sample within 10 ms, and there is nothing to gain in following
// that. The integrator's gain K^2/32 makes the loop critically damped.
//
// The timing is the middle of the estimator's window. It follows the mean delay until the estimator
// finds a better window elsewhere (channel_estimator.h). Then it keeps this distance from the mean
// delay, over a second or so, with K falling to 1/64, so that a late path that is strongest for a
// short time does not move the window.
//
// Every step of the CFO turns the phase of the measured channel. `turn` is the sum of these turns
// since the loop settled, at the middle of the present slot. The channel times exp(j turn) is the
// one with a constant CFO correction, which a predictor needs. In the same way every step of the
// timing tilts the phase over the band. `shift` is the sum of these steps in samples, without the
// drift; the channel of subcarrier k times exp(-j 2 pi k shift / 768) is free of them. Without
// `shift` the NMSE of the prediction three slots ahead is 0.39 on typical urban at 125 Hz (with it:
// docs/results/curves.md).
//
// Positions are an integer sample and a fraction: the integer moves when the fraction leaves
// +-0.6.
#pragma once

#include <complex>
#include <cstdint>

#include "phy/estimation/channel_estimator.h"

namespace wip::phy {

class tracking {
public:
    void start(std::int64_t slot_start, double cfo_hz) noexcept;
    // Channel of the present slot, measured with this object's timing and CFO.
    void update(const channel_estimate& channel) noexcept;
    // Goes on to the next slot.
    void advance() noexcept;
    // Tells that from this slot on samples are taken later by this fraction of a sample, so that
    // all measured times become earlier by it.
    void move_grid(double later) noexcept;
    // A slot is missing: the phase from the slot before it to the next one is not used.
    void forget_last() noexcept { has_last_ = false; }

    std::int64_t slot_start() const noexcept { return start_; }
    double fraction() const noexcept { return fraction_; }  // samples, of this slot
    double cfo_hz() const noexcept { return cfo_; }
    double phase() const noexcept { return phase_; }  // of the CFO at slot_start
    double turn() const noexcept;                     // radians
    double shift() const noexcept { return shift_; }  // samples
    int window() const noexcept { return window_; }   // samples later than the mean delay
    // The slot's start by the mean delay, in samples modulo 5120.
    double timing() const noexcept {
        return static_cast<double>(start_ % slot_samples) + exact_fraction_ - window_;
    }

private:
    void update_timing(const channel_estimate& channel) noexcept;
    void update_cfo(const channel_estimate& channel) noexcept;
    void move_window(int later) noexcept;

    std::int64_t start_ = 0;
    double fraction_ = 0;        // fraction at which the present slot is read
    double exact_fraction_ = 0;  // the same, with what update() has corrected for the next slot
    double drift_ = 0;           // samples a slot
    double shift_ = 0;
    int window_ = 0;  // samples by which the middle of the window is later than the mean delay
    int delay_updates_ = 0;
    double cfo_ = 0;
    double phase_ = 0;
    double reference_cfo_ = 0, turn_at_start_ = 0;
    std::complex<double> delay_sum_{}, slope_sum_{}, turn_sum_{};
    double slope_power_ = 0;
    int delay_slots_ = 0, turn_slots_ = 0;
    int age_ = 0;  // slots since start, as far as they matter
    plane last_;
    bool has_last_ = false;
};

}  // namespace wip::phy
