// SPDX-License-Identifier: GPL-3.0-or-later
// Properties of the radio that a stretch of received samples shows. 0 dBFS is the power of a tone
// of amplitude 1.
//
//   noise     median of the power spectrum over frequency, in the width of the sample rate: a tone,
//             the constant and a neighbour's carrier take few of its points
//   clipped   share of the samples with I or Q at 99.9 % of full scale or above. A converter that
//             clips before a filter spreads what it clips: at least so many then
//   tone      power at one frequency: windowed sums over blocks of 2^16 samples, so that nothing
//             further away than 4 / 2^16 of the rate counts (Blackman-Harris, side lobes 92 dB
//             down), less the noise that stands beside it
//
// A tone is found by the spectrum's peak near the expected frequency (another radio's oscillator
// is off by some kHz), then exactly by the phase from block to block, twice: the second blocks are
// longer, as the first estimate allows.
#pragma once

#include <complex>
#include <optional>
#include <span>
#include <vector>

namespace wip::radio {

using cf32 = std::complex<float>;

struct level_summary {
    double power_dbfs, peak_dbfs;  // peak: of the larger of I and Q; 0 is full scale
    double noise_dbfs;             // noise in the whole sample rate
    double dc_dbfs;
    double clipped;  // share of the samples
};

// Levels of at least 2^16 samples. `lo`: LO of the receiver relative to its centre, cycles per
// sample, where its DC offset is found. Throws machine_error when some samples are NaN.
level_summary levels_of(std::span<const cf32> in, double lo);

// Mean and largest spectrum over stretches of `stretch` samples, dBFS, 768 points from -1/2 of the
// rate up.
struct spectrum_pair {
    std::vector<float> mean, most;
};
spectrum_pair spectrum_of(std::span<const cf32> in, std::size_t stretch);

// Frequencies in cycles per sample, -0.5 to 0.5. None: nothing 15 dB above the noise within
// `within` of `expected`.
std::optional<double> find_tone(std::span<const cf32> in, double expected, double within);

struct line {
    double dbfs;
    bool above_noise;  // false: the line is in the noise, and this is an upper bound
};
line line_at(std::span<const cf32> in, double frequency);

// The frequencies that determine where, in a received tone, the products of the two mixers are
// found, all relative to the receiver's centre, in cycles per sample. Transmitter and receiver have
// to be tuned apart, so that the images and the leakage are at places of their own.
struct tone_places {
    double tone;         // expected frequency of the tone
    double receiver;     // LO of the receiver
    double transmitter;  // expected LO of the transmitter
};
struct tone_summary {
    double frequency;  // frequency at which the tone was found
    double dbfs;
    line receive_image, transmit_image, leakage;  // dB below the tone, as positive numbers
};
std::optional<tone_summary> measure_tone(std::span<const cf32> in, const tone_places& places,
                                         double within);

}  // namespace wip::radio
