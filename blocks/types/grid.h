// SPDX-License-Identifier: GPL-3.0-or-later
// The numbers of the grid, written once: 5 MHz = 25 bins x 20 subcarriers, a slot of 6 OFDM symbols
// in 5120 samples at 7.68 MS/s (Alfredsson 2012, section 5.2; sampling:
// docs/reference/air-interface.md).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "types/quantity.h"

namespace wip {

inline constexpr int nof_bins = 25;
inline constexpr int subcarriers_per_bin = 20;
inline constexpr int symbols_per_slot = 6;
inline constexpr int nof_subcarriers = nof_bins * subcarriers_per_bin;  // 500 occupied
inline constexpr int fft_size = 768;
inline constexpr std::array<int, symbols_per_slot> prefix_samples{85, 85, 86, 85, 85, 86};
inline constexpr int slot_samples = 5120;
inline constexpr std::int64_t sample_rate_hz = 7'680'000;
inline constexpr std::int64_t slots_per_second = 1500;
inline constexpr int slots_per_frame = 30;  // a 20 ms frame

inline constexpr int pilots_per_bin = 4;
inline constexpr int control_symbols_per_bin = 8;
inline constexpr int payload_symbols_per_bin = 108;
inline constexpr int max_bits_per_symbol = 8;

static_assert(fft_size * symbols_per_slot + 512 == slot_samples);
static_assert(pilots_per_bin + control_symbols_per_bin + payload_symbols_per_bin ==
              subcarriers_per_bin * symbols_per_slot);

// First sample of the cyclic prefix of OFDM symbol l, from the start of its slot.
constexpr int symbol_offset(int l) {
    int offset = 0;
    for (int i = 0; i < l; ++i) offset += fft_size + prefix_samples[static_cast<std::size_t>(i)];
    return offset;
}

// FFT output index (0..767, DC at 0) of occupied subcarrier n = 0..499. Occupied subcarriers are
// -250..-1 and +1..+250, so n = 0 is the lowest frequency and DC stays empty.
constexpr int fft_index(int n) { return n < 250 ? fft_size - 250 + n : n - 249; }

constexpr sample first_sample(slot s) { return sample(s.value * slot_samples); }
constexpr slot slot_of(sample s) {
    const std::int64_t q = s.value / slot_samples;
    return slot(s.value % slot_samples < 0 ? q - 1 : q);
}

}  // namespace wip
