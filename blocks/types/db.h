// SPDX-License-Identifier: GPL-3.0-or-later
// Ratios in dB, levels in dBFS and dBm. A level plus a ratio is a level; a level plus a level does
// not compile. Made of any number; lists of many stay plain numbers with the unit in their name.
#pragma once

#include <cmath>
#include <compare>
#include <type_traits>

namespace wip {

struct db {
    double value = 0;
    constexpr db() = default;
    template <class Number>
    requires std::is_arithmetic_v<Number>
    constexpr explicit db(Number v) : value(static_cast<double>(v)) {}
    constexpr auto operator<=>(const db&) const = default;
    friend constexpr db operator+(db a, db b) { return db(a.value + b.value); }
    friend constexpr db operator-(db a, db b) { return db(a.value - b.value); }
    constexpr db operator-() const { return db(-value); }
    double power() const { return std::pow(10.0, value / 10); }      // power ratio
    double amplitude() const { return std::pow(10.0, value / 20); }  // amplitude ratio
    static db from_power(double ratio) { return db(10 * std::log10(ratio)); }
    constexpr float single() const { return static_cast<float>(value); }
};

// A power relative to that of the reference.
template <class Reference>
struct level {
    double value = 0;
    constexpr level() = default;
    template <class Number>
    requires std::is_arithmetic_v<Number>
    constexpr explicit level(Number v) : value(static_cast<double>(v)) {}
    constexpr auto operator<=>(const level&) const = default;
    friend constexpr level operator+(level a, db b) { return level(a.value + b.value); }
    friend constexpr level operator-(level a, db b) { return level(a.value - b.value); }
    friend constexpr db operator-(level a, level b) { return db(a.value - b.value); }
    double power() const { return db(value).power(); }
};
using dbfs = level<struct full_scale>;  // |sample| = 1
using dbm = level<struct milliwatt>;

// Mean level of a transmitted slot: all 500 subcarriers on, unit mean energy per resource element.
// Far enough below full scale for the peaks of OFDM (peak to mean about 11 dB).
inline constexpr dbfs nominal_transmit_level{-15.0};

}  // namespace wip
