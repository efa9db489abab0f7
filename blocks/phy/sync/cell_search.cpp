// SPDX-License-Identifier: GPL-3.0-or-later
#include "phy/sync/cell_search.h"

#include <bit>
#include <cmath>

#include "phy/grid/sequence.h"

namespace wip::phy {

namespace {

struct sign_words {
    std::array<std::uint64_t, 2> re{}, im{};  // bit i: the part is negative
};

// Turned by 45 degrees, so that a product of phase zero has both parts well away from zero.
sign_words signs_of(const pilot_products& p) {
    sign_words s;
    for (std::size_t i = 0; i < p.size(); ++i) {
        const std::uint64_t bit = std::uint64_t{1} << i % 64;
        if (p[i].real() < p[i].imag()) s.re[i / 64] |= bit;
        if (p[i].real() + p[i].imag() < 0) s.im[i / 64] |= bit;
    }
    return s;
}

}  // namespace

cell_search::cell_search(sender from) : first_cell_(from.cell == any_cell ? 0 : from.cell) {
    const int cells = from.cell == any_cell ? nof_cells : 1;
    for (int c = first_cell_; c < first_cell_ + cells; ++c) {
        const pilots values(from.in_cell(c));
        for (int slot = 0; slot < slots_per_frame; ++slot) {
            std::array<std::uint64_t, 2> odd{}, half{};
            const auto products = products_of(values.of(slot));
            for (std::size_t i = 0; i < products.size(); ++i) {
                const cf32 v = products[i];
                const std::uint64_t bit = std::uint64_t{1} << i % 64;
                if (std::abs(v.imag()) > 0.5F) odd[i / 64] |= bit;
                if (v.real() + v.imag() < 0) half[i / 64] |= bit;
            }
            for (std::size_t w = 0; w < 2; ++w) {
                odd_[w].push_back(odd[w]);
                half_[w].push_back(half[w]);
            }
        }
    }
    scores_.resize(hypotheses());
}

// conj(j^k) (u + jv): k = 0 (u, v), 1 (v, -u), 2 (-u, -v), 3 (-v, u).
void cell_search::add(const pilot_products& p, int tag) noexcept {
    const auto s = signs_of(p);
    const std::size_t n = hypotheses();
    const auto *odd0 = odd_[0].data(), *odd1 = odd_[1].data();
    const auto *half0 = half_[0].data(), *half1 = half_[1].data();
    const std::uint64_t differ0 = s.re[0] ^ s.im[0], differ1 = s.re[1] ^ s.im[1];
    for (std::size_t h = 0; h < n; ++h) {
        const std::uint64_t swap0 = differ0 & odd0[h], swap1 = differ1 & odd1[h];
        const int re =
            std::popcount(s.re[0] ^ swap0 ^ half0[h]) + std::popcount(s.re[1] ^ swap1 ^ half1[h]);
        const int im = std::popcount(s.im[0] ^ swap0 ^ half0[h] ^ odd0[h]) +
                       std::popcount(s.im[1] ^ swap1 ^ half1[h] ^ odd1[h]);
        const int x = static_cast<int>(nof_pilot_products) - 2 * re;
        const int y = static_cast<int>(nof_pilot_products) - 2 * im;
        scores_[h] = x * x + y * y;
    }
    sets_[nof_sets_] = p;
    tags_[nof_sets_] = tag;
    int least_kept = kept_ < most_kept ? 0 : best_[most_kept - 1].score;
    for (std::size_t h = 0; h < n; ++h) {
        if (scores_[h] <= least_kept) continue;
        std::size_t rank = kept_ < most_kept ? kept_++ : most_kept - 1;
        for (; rank > 0 && best_[rank - 1].score < scores_[h]; --rank)
            best_[rank] = best_[rank - 1];
        best_[rank] = {scores_[h], h, nof_sets_};
        least_kept = kept_ < most_kept ? 0 : best_[most_kept - 1].score;
    }
    ++nof_sets_;
}

cell_match cell_search::exact(const candidate& c) const noexcept {
    const auto& p = sets_[c.set];
    float re = 0, im = 0, energy = 0;
    for (std::size_t i = 0; i < p.size(); ++i) {
        const bool odd = odd_[i / 64][c.hypothesis] >> i % 64 & 1;
        const bool half = half_[i / 64][c.hypothesis] >> i % 64 & 1;
        const float x = odd ? p[i].imag() : p[i].real();
        const float y = odd ? -p[i].real() : p[i].imag();
        re += half ? -x : x;
        im += half ? -y : y;
        energy += std::norm(p[i]);
    }
    cell_match m;
    m.cell = first_cell_ + static_cast<int>(c.hypothesis) / slots_per_frame;
    m.slot_in_frame = static_cast<int>(c.hypothesis) % slots_per_frame;
    m.tag = tags_[c.set];
    m.sum = {re, im};
    m.peak = energy > 0 && std::isfinite(energy) ? std::norm(m.sum) / energy : 0;
    return m;
}

cell_match cell_search::strongest(float threshold) const noexcept {
    cell_match best;
    best.tag = -1;
    for (std::size_t i = 0; i < kept_; ++i) {
        const auto m = exact(best_[i]);
        if (m.peak < threshold) continue;
        if (best.tag < 0 || std::norm(m.sum) > std::norm(best.sum)) best = m;
    }
    return best;
}

}  // namespace wip::phy
