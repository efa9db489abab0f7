// SPDX-License-Identifier: GPL-3.0-or-later
#include "phy/estimation/intercarrier.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstring>
#include <numbers>

#include "phy/grid/resource_map.h"
#include "phy/math/turn.h"
#include "phy/ofdm/slot_extractor.h"
#include "types/multiply_add.h"

namespace wip::phy {

namespace {

constexpr std::size_t parts = 2 * symbols_per_slot;
constexpr std::size_t lane_count = nof_lanes;
constexpr std::size_t row = (parts + lane_count - 1) / lane_count * lane_count;
constexpr std::size_t below_dc = nof_subcarriers / 2;
constexpr std::size_t rows = nof_subcarriers + 1;

// Approximates 1 / sin(pi d / 768), d = 1..500, by exponentials and a correction of its first
// value: least squares, mostly of the absolute error. The last exponential does not decay.
constexpr std::array<float, 4> decays{0.98514888F, 0.93079409F, 0.76039052F, 0.3762184F};
constexpr std::array<float, 5> weight{6.65541725F, 22.93821644F, 65.79358825F, 114.9769806F,
                                      1.00835126F};
constexpr float rest_of_first = 33.09012F;
constexpr float scale = symbols_per_slot / (2.F * slot_samples);

constexpr std::size_t quad_floats = 4;
typedef float quad __attribute__((vector_size(quad_floats * sizeof(float))));

template <int... I>
quad pick(quad a, quad b) noexcept {
#if __has_builtin(__builtin_shufflevector)
    return __builtin_shufflevector(a, b, I...);
#else
    typedef int mask __attribute__((vector_size(sizeof(quad))));
    return __builtin_shuffle(a, b, mask{I...});
#endif
}

quad four(const float* p) noexcept {
    quad v;
    std::memcpy(&v, p, sizeof v);
    return v;
}
void put_four(float* p, quad v) noexcept { std::memcpy(p, &v, sizeof v); }

// from(i), i = 0..3: four values; to(i): where their values i go.
template <class From, class To>
void transpose(From from, To to) noexcept {
    const quad a = four(from(0)), b = four(from(1)), c = four(from(2)), d = four(from(3));
    const quad ab = pick<0, 4, 1, 5>(a, b), ab2 = pick<2, 6, 3, 7>(a, b);
    const quad cd = pick<0, 4, 1, 5>(c, d), cd2 = pick<2, 6, 3, 7>(c, d);
    put_four(to(0), pick<0, 1, 4, 5>(ab, cd));
    put_four(to(1), pick<2, 3, 6, 7>(ab, cd));
    put_four(to(2), pick<0, 1, 4, 5>(ab2, cd2));
    put_four(to(3), pick<2, 3, 6, 7>(ab2, cd2));
}

lanes at(const float* p) noexcept { return *reinterpret_cast<const lanes*>(p); }
void put(float* p, lanes v) noexcept { *reinterpret_cast<lanes*>(p) = v; }

constexpr std::size_t block = 16;  // subcarriers
static_assert(block % lane_count == 0 && plane_size % block == 0);
struct alignas(vector_alignment) block_parts {
    float of[parts][block];
};
// The subcarriers above DC lie one row further: DC's own row stays zero.
constexpr std::size_t row_of(std::size_t n) { return (n + (n >= below_dc ? 1 : 0)) * row; }
constexpr std::size_t nof_blocks = plane_size / block;
// The first row of a block; a block with DC has one more.
constexpr std::size_t first_row(std::size_t k) { return std::min(row_of(k * block) / row, rows); }

}  // namespace

intercarrier::intercarrier() : rows_in_((plane_size + 1) * row), rows_out_((plane_size + 1) * row) {
    for (int n = 0; n < nof_subcarriers; ++n) {
        const auto turn = turn_by(-2 * std::numbers::pi * (window_advance + 0.5) / fft_size *
                                  signed_subcarrier(n));
        turn_.re[n] = static_cast<float>(turn.real());
        turn_.im[n] = static_cast<float>(turn.imag());
    }
}

void intercarrier::work(const plane& b, const plane& c, const grid& x, grid& out,
                        const bin_set& bins) noexcept {
    blocks_ = 0;
    for (std::size_t i = 0; i < nof_bins; ++i)
        if (bins[i])
            for (const std::size_t n : {i * subcarriers_per_bin, (i + 1) * subcarriers_per_bin - 1})
                blocks_ |= 1U << n / block;
    turn_and_transpose(b, c, x);
    filter();
    transpose_and_turn_back(out);
}

void intercarrier::turn_and_transpose(const plane& b, const plane& c, const grid& x) noexcept {
    block_parts v;
    for (std::size_t n0 = 0; n0 < plane_size; n0 += block) {
        for (std::size_t i = 0; i < block; i += lane_count) {
            const std::size_t n = n0 + i;
            const lanes tr = at(turn_.re + n), ti = at(turn_.im + n);
            const lanes br = at(b.re + n), bi = at(b.im + n);
            const lanes cr = at(c.re + n), ci = at(c.im + n);
            const lanes ur = multiply_add(br, tr, -bi * ti), ui = multiply_add(br, ti, bi * tr);
            const lanes wr = multiply_add(cr, tr, -ci * ti), wi = multiply_add(cr, ti, ci * tr);
            for (std::size_t l = 0; l < symbols_per_slot; ++l) {
                const float t2 = 2 * symbol_time(static_cast<int>(l));
                const lanes sr = multiply_add(wr, t2, ur), si = multiply_add(wi, t2, ui);
                const lanes xr = at(x[l].re + n), xi = at(x[l].im + n);
                put(v.of[l] + i, multiply_add(sr, xr, -si * xi));
                put(v.of[symbols_per_slot + l] + i, multiply_add(sr, xi, si * xr));
            }
        }
        for (std::size_t i = 0; i < block; i += quad_floats)
            for (std::size_t p = 0; p < parts; p += quad_floats)
                transpose([&](std::size_t j) { return v.of[p + j] + i; },
                          [&](std::size_t j) { return rows_in_.data() + row_of(n0 + i + j) + p; });
    }
}

// The sum for a row is taken before the row itself enters the recursion, so its nearest neighbour
// has not decayed yet. Rows beyond the last block that is wanted are not visited.
void intercarrier::filter() noexcept {
    const auto lowest = static_cast<std::size_t>(std::countr_zero(blocks_));
    const auto beyond = static_cast<std::size_t>(std::bit_width(blocks_));
    for (std::size_t part = 0; part < row; part += lane_count) {
        const float* in = rows_in_.data() + part;
        float* out = rows_out_.data() + part;
        std::array<lanes, decays.size()> f{};
        lanes all{}, last{};
        const auto sum = [&] {
            lanes v = scale * rest_of_first * last;
            v = multiply_add(all, scale * weight[4], v);
            for (std::size_t e = 0; e < decays.size(); ++e)
                v = multiply_add(f[e], scale * weight[e], v);
            return v;
        };
        const auto enter = [&](std::size_t n) {
            last = at(in + n * row);
            for (std::size_t e = 0; e < decays.size(); ++e)
                f[e] = multiply_add(f[e], decays[e], last);
            all += last;
        };
        for (std::size_t k = nof_blocks; k-- > lowest;)
            for (std::size_t n = first_row(k + 1); n-- > first_row(k); enter(n))
                if (is_wanted(k)) put(out + n * row, sum());
        f = {};
        all = last = lanes{};
        for (std::size_t k = 0; k < beyond; ++k)
            for (std::size_t n = first_row(k); n < first_row(k + 1); enter(n++))
                if (is_wanted(k)) put(out + n * row, at(out + n * row) - sum());
    }
}

// Two loops, because data that was just stored in small pieces is slow to load as a whole vector.
void intercarrier::transpose_and_turn_back(grid& out) noexcept {
    for (std::size_t n = 0; n < plane_size; n += quad_floats) {
        if (!is_wanted(n / block)) continue;
        for (std::size_t p = 0; p < parts; p += quad_floats)
            transpose([&](std::size_t i) { return rows_out_.data() + row_of(n + i) + p; },
                      [&](std::size_t i) {
                          const std::size_t part = p + i;
                          return (part < symbols_per_slot ? out[part].re
                                                          : out[part - symbols_per_slot].im) +
                                 n;
                      });
    }
    for (std::size_t n = 0; n < plane_size; n += lane_count) {
        if (!is_wanted(n / block)) continue;
        const lanes tr = at(turn_.re + n), ti = at(turn_.im + n);
        for (auto& symbol : out) {
            const lanes zr = at(symbol.re + n), zi = at(symbol.im + n);
            put(symbol.re + n, multiply_add(tr, zi, -ti * zr));
            put(symbol.im + n, multiply_add(-tr, zr, -ti * zi));
        }
    }
}

}  // namespace wip::phy
