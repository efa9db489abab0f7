// SPDX-License-Identifier: GPL-3.0-or-later
// Ratios in dB and levels in dBFS. A level plus a ratio is a level; a level plus a level does not
// compile. Made of any number; lists of many stay plain numbers with the unit in their name.
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

// Level relative to full scale (|sample| = 1).
struct dbfs {
    double value = 0;
    constexpr dbfs() = default;
    template <class Number>
    requires std::is_arithmetic_v<Number>
    constexpr explicit dbfs(Number v) : value(static_cast<double>(v)) {}
    constexpr auto operator<=>(const dbfs&) const = default;
    friend constexpr dbfs operator+(dbfs a, db b) { return dbfs(a.value + b.value); }
    friend constexpr dbfs operator-(dbfs a, db b) { return dbfs(a.value - b.value); }
    friend constexpr db operator-(dbfs a, dbfs b) { return db(a.value - b.value); }
    double power() const { return std::pow(10.0, value / 10); }
};

// Mean level of a transmitted slot: all 500 subcarriers on, unit mean energy per resource element.
// Far enough below full scale for the peaks of OFDM (peak to mean about 11 dB).
inline constexpr dbfs nominal_transmit_level{-15.0};

}  // namespace wip
