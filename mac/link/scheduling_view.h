// SPDX-License-Identifier: GPL-3.0-or-later
// What a scheduler has to know of one user to share out the bins of a slot.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "types/bin.h"

namespace wip {

struct scheduling_view {
    bool hears = false;                              // locked, and heard from lately
    std::array<float, nof_bins> predicted_snr_db{};  // for this slot
    std::array<std::uint8_t, nof_bins> rate{};       // bits per symbol that a bin would get
    // What waits, in the order in which bins take it, in nibbles: one piece for each failed unit,
    // then the queue, as one piece (packing) or as one for each packet. A bin takes its payload's
    // worth from the first piece and nothing from the next. More pieces than bins never matter.
    std::array<int, nof_bins> piece{};
    int nof_pieces = 0;
};

// Bins by falling SNR, of equal ones the lower first. No NaN.
inline std::array<bin_index, nof_bins> strongest_first(const std::array<float, nof_bins>& snr_db) {
    // The place of a bin is the number of those before it. Counted in whole vectors this is faster
    // than sorting.
    std::array<bin_index, nof_bins> order{};
    for (std::size_t b = 0; b < nof_bins; ++b) {
        int before = 0;
        for (std::size_t c = 0; c < nof_bins; ++c)
            before += snr_db[c] > snr_db[b] || (snr_db[c] == snr_db[b] && c < b) ? 1 : 0;
        order[static_cast<std::size_t>(before)] = bin_index(b);
    }
    return order;
}

// What is left of the pieces of a view while bins are given out.
class open_pieces {
public:
    open_pieces() = default;
    explicit open_pieces(const scheduling_view& v) : left_(v.piece), end_(v.nof_pieces) {}

    bool any() const { return first_ < end_; }
    // A bin that holds this many nibbles of payload.
    void give(int nibbles) {
        if (!any()) return;
        int& piece = left_[static_cast<std::size_t>(first_)];
        piece -= nibbles;
        if (piece <= 0) ++first_;
    }

private:
    std::array<int, nof_bins> left_{};
    int first_ = 0;
    int end_ = 0;
};

}  // namespace wip
