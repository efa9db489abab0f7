// SPDX-License-Identifier: GPL-3.0-or-later
// The view of one user that a scheduler needs to share out the bins of a slot.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "types/bin.h"
#include "types/frame.h"

namespace wip {

struct scheduling_view {
    bool hears = false;  // the terminal is locked and has sent feedback lately
    std::array<float, nof_bins> predicted_snr_db{};  // for this slot
    std::array<std::uint8_t, nof_bins> rate{};       // bits per symbol that a bin would get
    // The waiting data, in the order in which bins take it, in nibbles: one piece for each failed
    // unit, then the queue, as one piece (packing) or as one for each packet. A bin takes its
    // payload's worth from the first piece and nothing from the next. More pieces than bins never
    // matter.
    std::array<int, nof_bins> piece{};
    int nof_pieces = 0;
    int nof_failed = 0;  // number of the pieces that are failed units
};

// Bins by falling SNR, of equal ones the lower first. No NaN.
inline std::array<bin_index, nof_bins> strongest_first(const std::array<float, nof_bins>& snr_db) {
    // The place of a bin is the number of those before it. Counted for all bins at a time, in whole
    // vectors, this is faster than sorting.
    constexpr std::size_t room = 32;
    static_assert(nof_bins <= room);
    std::array<float, room> own{};
    std::copy(snr_db.begin(), snr_db.end(), own.begin());
    std::array<std::int32_t, room> before{};
    for (std::size_t c = 0; c < nof_bins; ++c) {
        const float other = snr_db[c];
        for (std::size_t b = 0; b < room; ++b)
            before[b] += static_cast<int>(other > own[b]) |
                         (static_cast<int>(other == own[b]) & static_cast<int>(c < b));
    }
    std::array<bin_index, nof_bins> order{};
    for (std::size_t b = 0; b < nof_bins; ++b)
        order[static_cast<std::size_t>(before[b])] = bin_index(b);
    return order;
}

// The rest of the pieces of a view while bins are given out.
class open_pieces {
public:
    open_pieces() = default;
    explicit open_pieces(const scheduling_view& v) : left_(v.piece), end_(v.nof_pieces) {}

    bool any() const { return first_ < end_; }
    // Gives out a bin that holds this many nibbles of payload.
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

// The bins of highest predicted SNR, at most n, no more than what waits needs: otherwise a short
// packet would fill the lowest of the best bins, not the best of them.
inline std::uint32_t best_bins(const scheduling_view& view, link_profile profile, int n) {
    const auto order = strongest_first(view.predicted_snr_db);
    open_pieces open(view);
    std::uint32_t chosen = 0;
    for (std::size_t i = 0; i < static_cast<std::size_t>(n) && open.any(); ++i) {
        chosen |= order[i].bit();
        open.give(frame_payload_nibbles(profile, view.rate[order[i].n()]));
    }
    return chosen;
}

}  // namespace wip
