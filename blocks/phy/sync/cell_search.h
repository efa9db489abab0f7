// SPDX-License-Identifier: GPL-3.0-or-later
// Which cell and which slot in frame: pilot products (pilot_score.h) against those of all 30 slots
// of one cell, or of all 64 cells.
//
// The products sent are powers of j, so a correlation is a sum of +-re and +-im of the products
// received. Two steps:
//  1. All hypotheses with the signs of re and im only: 98 products are two 128-bit words, a
//     correlation is an exclusive or and a count of bits: 24 000 of them take a tenth of a
//     millisecond. The signs cost 2 dB or a little more in a fading channel; that only matters
//     for getting among the best few.
//  2. The best few with the products themselves.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "phy/estimation/pilot_score.h"

namespace wip::phy {

inline constexpr int any_cell = -1;

struct cell_match {
    int cell = 0;
    int slot_in_frame = 0;
    int tag = 0;     // tag of the products in which it was found
    cf32 sum{};      // S
    float peak = 0;  // |S|^2 / sum |p|^2
};

class cell_search {
public:
    // `from`: its cell is 0..63 or any_cell; throws std::invalid_argument.
    explicit cell_search(sender from);

    std::size_t hypotheses() const noexcept { return odd_[0].size(); }
    static constexpr std::size_t most_sets = 66;
    void clear() noexcept { kept_ = nof_sets_ = 0; }
    // Compares with all hypotheses and keeps the best; at most most_sets times. `tag`: the caller's
    // name of these products, >= 0. The phase of S should be small, or the signs lose more.
    void add(const pilot_products& p, int tag) noexcept;
    // The strongest (largest |S|) of those kept whose peak is at least `threshold`; tag -1: none.
    cell_match strongest(float threshold) const noexcept;

private:
    static constexpr std::size_t most_kept = 16;
    struct candidate {
        int score = 0;
        std::size_t hypothesis = 0;
        std::size_t set = 0;
    };
    cell_match exact(const candidate& c) const noexcept;

    int first_cell_;
    // c_i = j^k: bit i of `odd` is k mod 2, of `half` k / 2.
    std::array<std::vector<std::uint64_t>, 2> odd_, half_;
    std::vector<std::int32_t> scores_;
    std::array<candidate, most_kept> best_{};  // best first
    std::size_t kept_ = 0;
    std::array<pilot_products, most_sets> sets_{};
    std::array<int, most_sets> tags_{};
    std::size_t nof_sets_ = 0;
};

}  // namespace wip::phy
