// SPDX-License-Identifier: GPL-3.0-or-later
// The use of each of the 120 resource elements of a bin. This file is the only place that defines
// it.
//
//   OFDM symbol   0        1                    2,3   4                    5
//   pilots                 subcarriers 2, 12          subcarriers 7, 17
//   control       4, 14    subcarriers 7, 17          subcarriers 2, 12    9, 19
//   payload       the other 108, in order of symbol, then subcarrier
//
// Once the control region is decoded its symbols are as good as pilots: twelve known elements a
// bin, 5 subcarriers apart in symbols 1 and 4 (50 kHz: delays up to 20 us are unambiguous), and on
// both ends of the slot, so that the estimate interpolates in time and never extrapolates.
#pragma once

#include <array>

#include "types/grid.h"

namespace wip::phy {

enum class re_kind : unsigned char { payload, pilot, control };

struct resource_element {
    int symbol;
    int subcarrier;  // within the bin, 0..19
};

inline constexpr std::array<resource_element, pilots_per_bin> pilot_elements{
    {{1, 2}, {1, 12}, {4, 7}, {4, 17}}};
inline constexpr std::array<resource_element, control_symbols_per_bin> control_elements{
    {{0, 4}, {0, 14}, {1, 7}, {1, 17}, {4, 2}, {4, 12}, {5, 9}, {5, 19}}};

inline constexpr int nof_pilots = pilots_per_bin * nof_bins;                    // 100
inline constexpr int nof_control_symbols = control_symbols_per_bin * nof_bins;  // 200
inline constexpr int nof_known = nof_pilots + nof_control_symbols;              // 300

constexpr re_kind kind_of(int symbol, int subcarrier) {
    for (const auto& e : pilot_elements)
        if (e.symbol == symbol && e.subcarrier == subcarrier) return re_kind::pilot;
    for (const auto& e : control_elements)
        if (e.symbol == symbol && e.subcarrier == subcarrier) return re_kind::control;
    return re_kind::payload;
}

inline constexpr std::array<resource_element, payload_symbols_per_bin> payload_elements = [] {
    std::array<resource_element, payload_symbols_per_bin> all{};
    std::size_t n = 0;
    for (int l = 0; l < symbols_per_slot; ++l)
        for (int c = 0; c < subcarriers_per_bin; ++c)
            if (kind_of(l, c) == re_kind::payload) all[n++] = {l, c};
    return all;
}();

// The payload elements as runs of neighbouring subcarriers: what is copied between a bin's list of
// symbols and the planes moves in few pieces.
struct payload_run {
    int first;  // first element of the list
    resource_element from;
    int length;
};
inline constexpr int nof_payload_runs = [] {
    int runs = 1;
    for (std::size_t i = 1; i < payload_elements.size(); ++i)
        runs += payload_elements[i].subcarrier != payload_elements[i - 1].subcarrier + 1;
    return runs;
}();
inline constexpr std::array<payload_run, nof_payload_runs> payload_runs = [] {
    std::array<payload_run, nof_payload_runs> all{};
    std::size_t runs = 0;
    for (std::size_t i = 0; i < payload_elements.size(); ++i) {
        const auto& e = payload_elements[i];
        if (i == 0 || e.subcarrier != payload_elements[i - 1].subcarrier + 1)
            all[runs++] = {static_cast<int>(i), e, 0};
        ++all[runs - 1].length;
    }
    return all;
}();

// Signed subcarrier number (-250..-1, 1..250) of occupied subcarrier n = 0..499.
constexpr int signed_subcarrier(int n) { return n < 250 ? n - 250 : n - 249; }

// Middle of OFDM symbol l against the middle of the slot, in OFDM symbols.
constexpr float symbol_time(int l) { return static_cast<float>(l) - 2.5F; }

}  // namespace wip::phy
