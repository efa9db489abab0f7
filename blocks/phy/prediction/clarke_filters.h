// SPDX-License-Identifier: GPL-3.0-or-later
// Wiener filters for Clarke's process in white noise, made once for a grid of Doppler frequencies
// and SNRs.
//
// Equal power from all directions has the correlation J0(2 pi f t). From the N last values in
// noise of variance 1/g the process `ahead` slots after the last one (or between the values, when
// that is negative) is best estimated with the weights
//     w = (R + I/g)^-1 r,   R_ik = J0(2 pi f (i-k)),  r_i = J0(2 pi f (ahead+i)),
// and the error variance 1 - w'r; real because the spectrum is symmetrical: a carrier offset has to
// be taken out before.
//
// Why not learned from data: N weights learned from a window of fading cost about N/(independent
// values in the window) of the error, and at 64 taps that is more than the long memory gains. Here
// only the Doppler frequency and an SNR are learned.
#pragma once

#include <array>

#include "phy/math/aligned.h"
#include "types/db.h"

namespace wip::phy {

// Doppler frequencies in cycles a slot: steps of 2.5 Hz to 180 Hz, then of 7.5 Hz to 367.5 Hz.
// The lowest stands for channels that hardly move.
inline constexpr int nof_dopplers = 98;
enum class doppler_index : int {};
constexpr double doppler_at(doppler_index of) {
    const int i = static_cast<int>(of);
    const double hz = i == 0 ? 0.5 : i <= 72 ? 2.5 * i : 180 + 7.5 * (i - 72);
    return hz / 1500;
}

enum class snr_class : int {};  // 0 .. nof_snrs - 1

// The filter for an SNR: a mean of those of two classes, weighted by how near each is, and faded in
// at low SNR. It is a continuous function of the SNR; with the filter of the nearest class, the
// last bit of a sum could decide.
struct snr_place {
    snr_class below{};
    float above = 0;  // share of the next class, 0 to 1
    float part = 0;   // weight of the filter: 0 up to -10 dB (all noise), 1 from -7 dB on
    // Weight of something that is used from a class on: 0 up to the class below it, 1 from that
    // class on.
    constexpr float counts_from(snr_class first) const noexcept {
        const int missing = static_cast<int>(first) - static_cast<int>(below);
        return missing <= 0 ? part : missing == 1 ? above * part : 0;
    }
    bool operator==(const snr_place&) const = default;
};

class clarke_filters {
public:
    static constexpr db least_snr{-10}, snr_step{5};
    static constexpr int nof_snrs = 13;             // to 50 dB
    static snr_class class_of(float snr) noexcept;  // the nearest to a linear SNR
    static snr_place place_of(float snr) noexcept;

    // ahead: -1..64 slots; order: at most 64. Each value is a mean over some time; `aperture` is
    // the rms distance of that time's points from its middle, in slots.
    clarke_filters(double ahead, int order, double aperture = 0);
    double ahead() const noexcept { return ahead_; }
    const float* weights(doppler_index doppler, snr_class snr) const noexcept {
        return weights_.data() + at(doppler, snr) * padded_;
    }
    // Variance of what the estimate misses, for a process of power 1.
    float error(doppler_index doppler, snr_class snr) const noexcept {
        return errors_[static_cast<std::size_t>(at(doppler, snr))];
    }
    float error(doppler_index doppler, snr_place snr) const noexcept {
        const float* e = errors_.data() + at(doppler, snr.below);
        const float full = snr.above > 0 ? e[0] + snr.above * (e[1] - e[0]) : e[0];
        return 1 - snr.part * (1 - full);
    }
    template <std::size_t Order>
    void weights(doppler_index doppler, snr_place snr,
                 std::array<float, Order>& out) const noexcept {
        const float* w = weights(doppler, snr.below);
        const float* next = snr.above > 0 ? w + padded_ : w;
        const float high = snr.part * snr.above;
        const float low = snr.part - high;
        for (std::size_t i = 0; i < Order; ++i) out[i] = low * w[i] + high * next[i];
    }

private:
    static constexpr int at(doppler_index doppler, snr_class snr) noexcept {
        return static_cast<int>(doppler) * nof_snrs + static_cast<int>(snr);
    }
    double ahead_;
    int padded_;
    aligned_vector<float> weights_;
    std::array<float, static_cast<std::size_t>(nof_dopplers) * nof_snrs> errors_;
};

// Solves T x = b, T symmetric, positive definite and Toeplitz with first column t, all of length n.
void solve_toeplitz(const double* t, const double* b, double* x, int n);

// J0(2 pi f (first + k)), k = 0..n-1.
void clarke_correlation(double cycles_per_slot, double* out, int n, double first = 0) noexcept;

}  // namespace wip::phy
