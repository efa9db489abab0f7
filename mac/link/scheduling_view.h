// SPDX-License-Identifier: GPL-3.0-or-later
// What a scheduler knows of one user when it shares out the bins of a slot.
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
    // The data that waits for this user, in nibbles, as pieces in the order in which they are sent:
    // one piece for each failed unit, then the queue. With packing the queue is one piece,
    // otherwise each packet is one. A bin carries data of one piece only. There is no room for more
    // pieces than bins, as a slot cannot carry more.
    std::array<int, nof_bins> piece{};
    int nof_pieces = 0;
    int nof_failed = 0;  // how many of the pieces are failed units
};

// Sorts the bins by falling SNR; of bins with equal SNR the lower comes first. No SNR may be NaN.
inline std::array<bin_index, nof_bins> strongest_first(const std::array<float, nof_bins>& snr_db) {
    // The position of a bin in the order is the number of bins before it. Counting them for all
    // bins at once, in whole vectors, is faster than sorting.
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

// The pieces of a view that are left while a scheduler gives bins to the user.
class open_pieces {
public:
    open_pieces() = default;
    explicit open_pieces(const scheduling_view& v) : left_(v.piece), end_(v.nof_pieces) {}

    bool any() const { return first_ < end_; }
    // Subtracts what a bin with this many nibbles of payload carries.
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

// Returns the n bins with the highest predicted SNR, or fewer if the waiting data needs fewer.
// Otherwise a short packet would be sent in the lowest bins of the set and not in the strongest.
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
