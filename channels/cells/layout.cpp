// SPDX-License-Identifier: GPL-3.0-or-later
#include "cells/layout.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace wip::cells {
namespace {

struct axial {
    int q, r;
};
constexpr std::array<axial, 6> directions{{{1, 0}, {0, 1}, {-1, 1}, {-1, 0}, {0, -1}, {1, -1}}};

// Position of the cell's site. The sites of neighbouring cells are sqrt(3) sides apart.
point position_of(axial a, double side_m) {
    return {side_m * std::numbers::sqrt3 * (a.q + a.r / 2.0), side_m * 1.5 * a.r};
}

int rings_of(int cells) {
    int rings = 0;
    while (3 * rings * (rings + 1) + 1 < cells) ++rings;
    return rings;
}

}  // namespace

bool layout::whole_rings(int cells) {
    const int rings = rings_of(cells);
    return 3 * rings * (rings + 1) + 1 == cells;
}

layout::layout(int cells, double side_m, bool wrap) : side_m_(side_m) {
    sites_.push_back({});
    for (int ring = 1; size() < cells; ++ring) {
        axial at{ring * directions[4].q, ring * directions[4].r};
        for (const axial d : directions)
            for (int step = 0; step < ring; ++step) {
                if (size() < cells) sites_.push_back(position_of(at, side_m));
                at = {at.q + d.q, at.r + d.r};
            }
    }
    copies_.push_back({});
    if (!wrap) return;
    // A layout of R rings repeats itself at the lattice of (2R + 1, -R) and its rotations by 60
    // degrees.
    const int rings = rings_of(cells);
    axial shift{2 * rings + 1, -rings};
    for (int n = 0; n < 6; ++n) {
        copies_.push_back(position_of(shift, side_m));
        shift = {-shift.r, shift.q + shift.r};
    }
}

bool layout::inside(const point& p, int cell) const {
    const double x = std::abs(p.x - site(cell).x), y = std::abs(p.y - site(cell).y);
    const double half_width = side_m_ * std::numbers::sqrt3 / 2;
    return x <= half_width && y <= side_m_ - x / std::numbers::sqrt3;
}

point layout::place_in(int cell, splitmix64& random) const {
    for (;;) {
        const double half_width = side_m_ * std::numbers::sqrt3 / 2;
        const double x = (2 * fraction(random) - 1) * half_width;
        const double y = (2 * fraction(random) - 1) * side_m_;
        const point p{site(cell).x + x, site(cell).y + y};
        if (inside(p, cell)) return p;
    }
}

bool layout::covers(const point& p) const {
    for (int cell = 0; cell < size(); ++cell)
        if (inside(p, cell)) return true;
    return false;
}

point layout::wrapped(const point& p) const {
    for (const point& c : copies_)
        if (const point moved{p.x - c.x, p.y - c.y}; covers(moved)) return moved;
    return p;
}

double layout::distance_m(const point& p, int cell) const {
    double nearest = INFINITY;
    for (const point& c : copies_)
        nearest = std::min(nearest, std::hypot(p.x - site(cell).x - c.x, p.y - site(cell).y - c.y));
    return nearest;
}

}  // namespace wip::cells
