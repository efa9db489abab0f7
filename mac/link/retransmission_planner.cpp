// SPDX-License-Identifier: GPL-3.0-or-later
#include "link/retransmission_planner.h"

#include <algorithm>

namespace wip {

retransmission_planner::retransmission_planner(link_profile profile) : profile_(profile) {
    free_.reserve(nof_bins);
    bins_of_unit_.reserve(nof_bins);
    placed_.reserve(nof_bins);
    rest_.reserve(nof_bins);
}

rated_bin retransmission_planner::take(std::size_t index) {
    const rated_bin b = free_[index];
    free_.erase(free_.begin() + static_cast<std::ptrdiff_t>(index));
    return b;
}

void retransmission_planner::plan(std::span<const arq_unit> waiting,
                                  std::span<const rated_bin> bins) {
    placed_.clear();
    rest_.clear();
    used_ = 0;
    cuts_ = 0;
    // Sorts by rate, bins of one rate in their order. This is a counting sort, since
    // std::stable_sort would allocate.
    std::array<std::uint8_t, max_bits_per_symbol + 2> first{};
    for (const rated_bin& b : bins) ++first[b.rate + 1U];
    for (std::size_t k = 1; k < first.size(); ++k)
        first[k] = static_cast<std::uint8_t>(first[k] + first[k - 1]);
    free_.resize(bins.size());
    for (const rated_bin& b : bins) free_[first[b.rate]++] = b;
    for (const arq_unit& u : waiting) {
        if (free_.empty()) break;
        ++used_;
        const auto fits = std::ranges::find_if(
            free_, [&](const rated_bin& b) { return b.rate >= u.bits_per_symbol; });
        if (u.bits_per_symbol == 0 || fits == free_.end()) {
            cut(u);
        } else {
            const rated_bin b = take(static_cast<std::size_t>(fits - free_.begin()));
            placed_.push_back({b.bin, u});
        }
    }
    // Units of one modulation: ascending units to ascending bins. placed_ is in the order of the
    // units, so collecting the bins of a modulation and handing them out sorted is enough. Every
    // one of those bins is rated for that modulation.
    std::array<bin_index, nof_bins> bins_of_k{};
    std::array<int, max_bits_per_symbol + 1> units{};
    for (const auto& p : placed_) ++units[p.unit.bits_per_symbol];
    for (int k = 1; k <= max_bits_per_symbol; ++k) {
        if (units[static_cast<std::size_t>(k)] < 2) continue;
        std::size_t n = 0;
        for (const auto& p : placed_)
            if (p.unit.bits_per_symbol == k) bins_of_k[n++] = p.bin;
        std::sort(bins_of_k.begin(), bins_of_k.begin() + static_cast<std::ptrdiff_t>(n));
        n = 0;
        for (auto& p : placed_)
            if (p.unit.bits_per_symbol == k) p.bin = bins_of_k[n++];
    }
    std::ranges::sort(placed_, {}, &placed_unit::bin);
}

void retransmission_planner::cut(const arq_unit& unit) {
    if (unit.bits_per_symbol != 0) ++cuts_;
    bins_of_unit_.clear();
    for (int left = unit.length; left > 0 && !free_.empty();) {
        const auto holds = std::ranges::find_if(free_, [&](const rated_bin& b) {
            return frame_payload_nibbles(profile_, b.rate) >= left;
        });
        const rated_bin b =
            take(holds == free_.end() ? free_.size() - 1
                                      : static_cast<std::size_t>(holds - free_.begin()));
        bins_of_unit_.push_back(b);
        left -= frame_payload_nibbles(profile_, b.rate);
    }
    std::ranges::sort(bins_of_unit_, {}, &rated_bin::bin);
    int offset = unit.offset;
    const int end = unit.offset + unit.length;
    for (const rated_bin& b : bins_of_unit_) {
        const int left = end - offset;
        const int room = frame_payload_nibbles(profile_, b.rate);
        arq_unit piece = unit;
        piece.offset = static_cast<std::uint8_t>(offset);
        piece.length = static_cast<std::uint8_t>(std::min(room, left));
        piece.bits_per_symbol =
            static_cast<std::uint8_t>(left <= room ? lowest_modulation(profile_, left) : b.rate);
        placed_.push_back({b.bin, piece});
        offset += piece.length;
        if (offset == end) break;
    }
    if (offset < end) {
        arq_unit left = unit;
        left.offset = static_cast<std::uint8_t>(offset);
        left.length = static_cast<std::uint8_t>(end - offset);
        left.bits_per_symbol = 0;
        rest_.push_back(left);
    }
}

}  // namespace wip
