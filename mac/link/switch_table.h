// SPDX-License-Identifier: GPL-3.0-or-later
// Adaptive modulation: bits per symbol of a bin from its predicted SNR. The thresholds are computed
// when the project is built, by the program `switch_table` (mac/link/switch_table_main.cpp), which
// also prints them with the curves behind them; method and table: docs/explanation/mac.md.
//
// Three kinds: for perfect prediction, for a prediction NMSE of 0.1 at 16 dB mean SNR, and for the
// prediction error as it is measured, the level of which is set by set_error()
// (link/prediction_error.h defines and estimates it). Between the error levels of the built-in
// family, 1 dB apart, thresholds are interpolated; the same level gives the same table, whatever it
// was before.
//
// Never 0: the criterion is the expected number of bits in frames without error, above zero for
// k = 1 at any SNR, and zero for sending nothing.
#pragma once

#include <algorithm>
#include <array>

#include "link/link_config.h"
#include "types/db.h"
#include "types/eight_points.h"
#include "types/grid.h"

namespace wip {

class switch_table {
public:
    // `measured` is the table for NMSE 0.1 until there is an estimate. `eight`: the constellation
    // for 3 bits per symbol.
    switch_table(switch_table_kind kind, link_profile profile,
                 eight_points eight = eight_points::star);

    // Kind `measured`: the power of the prediction error as a linear SNR, >= 0. For other kinds,
    // and for values that are negative or NaN, nothing changes.
    void set_error(double level) noexcept;

    // 1..8; 1 for NaN.
    int bits_per_symbol(db predicted_snr) const noexcept {
        const auto snr_db = predicted_snr.single();
        int k = 1;
        while (k < max_bits_per_symbol && snr_db >= from_db_[static_cast<std::size_t>(k + 1)]) ++k;
        return k;
    }
    // The modulation of all bins at once: the comparisons stand side by side, so that the processor
    // has no branches to predict.
    std::array<std::uint8_t, nof_bins> bits_per_symbol(
        const std::array<float, nof_bins>& snr_db) const noexcept {
        constexpr std::size_t room = 32;  // whole vectors
        std::array<float, room> snr{};
        std::copy(snr_db.begin(), snr_db.end(), snr.begin());
        std::array<std::int32_t, room> reached, k;
        reached.fill(1), k.fill(1);
        for (std::size_t next = 2; next < from_db_.size(); ++next)
            for (std::size_t b = 0; b < room; ++b)
                k[b] += reached[b] &= static_cast<int>(snr[b] >= from_db_[next]);
        std::array<std::uint8_t, nof_bins> bits;
        std::copy_n(k.begin(), nof_bins, bits.begin());
        return bits;
    }
    // Lowest predicted SNR at which k is used; k = 2..8.
    db from(int k) const { return db(from_db_.at(static_cast<std::size_t>(k))); }

private:
    switch_table_kind kind_;
    link_profile profile_;
    eight_points eight_;
    std::array<float, max_bits_per_symbol + 1> from_db_;
};

}  // namespace wip
