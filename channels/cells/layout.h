// SPDX-License-Identifier: GPL-3.0-or-later
// Hexagonal cells of one size, site by site on a spiral around the first one: 7, 19 and 37 cells
// are whole rings. With wrap-around, copies of the layout surround it without a gap, and the
// nearest copy of a site counts.
#pragma once

#include <array>
#include <vector>

#include "types/splitmix64.h"

namespace wip::cells {

struct point {
    double x = 0, y = 0;  // m
};

// Uniform in [0, 1).
inline double fraction(splitmix64& random) {
    return static_cast<double>(random.next() >> 11) * 0x1p-53;
}

class layout {
public:
    layout(int cells, double side_m, bool wrap);

    int size() const noexcept { return static_cast<int>(sites_.size()); }
    const point& site(int cell) const { return sites_[static_cast<std::size_t>(cell)]; }
    // Uniform in the hexagon of the cell.
    point place_in(int cell, splitmix64& random) const;
    // Whether the point lies in any cell.
    bool covers(const point& p) const;
    // With wrap-around, returns the corresponding point inside of the layout for a point just
    // outside of it.
    point wrapped(const point& p) const;
    double distance_m(const point& p, int cell) const;
    // Whether a layout of so many cells can wrap around.
    static bool whole_rings(int cells);

private:
    bool inside(const point& p, int cell) const;

    double side_m_;
    std::vector<point> sites_;
    std::vector<point> copies_;  // shifts of the copies; the first one is zero
};

}  // namespace wip::cells
