// SPDX-License-Identifier: GPL-3.0-or-later
// A point on an integer axis and a distance along it are different types: point - point is a
// distance, point + distance is a point, point + point does not compile. Used for slots and
// samples, so that no position in time is ever a float.
#pragma once

#include <compare>
#include <cstdint>

namespace wip {

template <class Axis>
struct distance {
    std::int64_t value = 0;
    constexpr distance() = default;
    constexpr explicit distance(std::int64_t v) : value(v) {}
    constexpr auto operator<=>(const distance&) const = default;
    constexpr distance operator-() const { return distance(-value); }
    constexpr distance& operator+=(distance d) { return value += d.value, *this; }
    constexpr distance& operator-=(distance d) { return value -= d.value, *this; }
    friend constexpr distance operator+(distance a, distance b) { return a += b; }
    friend constexpr distance operator-(distance a, distance b) { return a -= b; }
    friend constexpr distance operator*(distance a, std::int64_t n) {
        return distance(a.value * n);
    }
};

template <class Axis>
struct point {
    std::int64_t value = 0;
    constexpr point() = default;
    constexpr explicit point(std::int64_t v) : value(v) {}
    constexpr auto operator<=>(const point&) const = default;
    constexpr point& operator+=(distance<Axis> d) { return value += d.value, *this; }
    constexpr point& operator-=(distance<Axis> d) { return value -= d.value, *this; }
    constexpr point& operator++() { return ++value, *this; }
    friend constexpr point operator+(point a, distance<Axis> d) { return a += d; }
    friend constexpr point operator-(point a, distance<Axis> d) { return a -= d; }
    friend constexpr distance<Axis> operator-(point a, point b) {
        return distance<Axis>(a.value - b.value);
    }
};

struct slot_axis;
struct sample_axis;

using slot = point<slot_axis>;               // slots of 1/1500 s since the cell's time zero
using slot_count = distance<slot_axis>;      // a number of slots
using sample = point<sample_axis>;           // samples at 7.68 MS/s since the cell's time zero
using sample_count = distance<sample_axis>;  // a number of samples

}  // namespace wip
