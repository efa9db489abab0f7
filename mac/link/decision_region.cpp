// SPDX-License-Identifier: GPL-3.0-or-later
#include "link/decision_region.h"

#include <algorithm>
#include <cmath>

namespace wip {
namespace {

// The offset of a point from the one whose region is computed, divided by its squared length. The
// boundary half way to a point is a line. Inversion turns the lines that bound the region into the
// corners of a convex hull.
struct inverted {
    std::complex<double> w;
    std::size_t point;
};

double cross(const inverted& o, const inverted& a, const inverted& b) {
    const auto p = a.w - o.w, q = b.w - o.w;
    return p.real() * q.imag() - p.imag() * q.real();
}

}  // namespace

std::vector<std::size_t> bounding_points(std::span<const std::complex<double>> points,
                                         std::size_t centre) {
    // The centre itself, at 0, stands for a boundary at infinity, where the region is unbounded.
    std::vector<inverted> all{{0, centre}};
    double largest = 0;
    for (std::size_t i = 0; i < points.size(); ++i) {
        if (i == centre) continue;
        const auto d = points[i] - points[centre];
        all.push_back({d / std::norm(d), i});
        largest = std::max(largest, std::norm(all.back().w));
    }
    std::ranges::sort(all, [](const inverted& a, const inverted& b) {
        return a.w.real() != b.w.real() ? a.w.real() < b.w.real() : a.w.imag() < b.w.imag();
    });
    // The hull, by Andrew's two chains, counterclockwise.
    std::vector<inverted> hull;
    for (int half = 0; half < 2; ++half) {
        const std::size_t start = hull.size();
        for (const inverted& p : all) {
            while (hull.size() > start + 1 && cross(hull[hull.size() - 2], hull.back(), p) <= 0)
                hull.pop_back();
            hull.push_back(p);
        }
        hull.pop_back();
        std::ranges::reverse(all);
    }
    // A line that only touches the region in a corner (apart from rounding) is not an edge of it,
    // and a line through the point itself does not bound it either.
    const double rounding = 1e-9 * largest;
    std::vector<std::size_t> bounding;
    for (std::size_t i = 0; i < hull.size(); ++i) {
        const inverted &from = hull[i], &to = hull[(i + 1) % hull.size()];
        if (from.point != centre) bounding.push_back(from.point);
        if (std::abs(cross({0, centre}, from, to)) <= rounding) continue;
        for (const inverted& p : all)
            if (p.point != centre && cross(from, to, p) <= rounding) bounding.push_back(p.point);
    }
    std::ranges::sort(bounding);
    bounding.erase(std::unique(bounding.begin(), bounding.end()), bounding.end());
    return bounding;
}

}  // namespace wip
