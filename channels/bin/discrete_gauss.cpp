// SPDX-License-Identifier: GPL-3.0-or-later
#include "bin/discrete_gauss.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace wip::bin_model {
namespace {

// Orthonormal polynomials: sqrt(b_{k+1}) p_{k+1} = (x - a_k) p_k - sqrt(b_k) p_{k-1}, p_0 = 1.
struct recurrence {
    std::vector<double> a, root_b;
    // p_0 .. p_count at x.
    std::vector<double> at(double x, int count) const {
        std::vector<double> p{1};
        for (int k = 0; k < count; ++k) {
            const auto i = static_cast<std::size_t>(k);
            const double last = k > 0 ? root_b[i] * p[i - 1] : 0;
            p.push_back(((x - a[i]) * p[i] - last) / root_b[i + 1]);
        }
        return p;
    }
};

}  // namespace

quadrature discrete_gauss(std::span<const double> points, int count) {
    const auto [low, high] = std::minmax_element(points.begin(), points.end());
    // The points are mapped to [-1, 1], so that powers stay near 1.
    const double middle = (*low + *high) / 2, half = std::max((*high - *low) / 2, 1e-300);
    std::vector<double> x;
    for (const double p : points) x.push_back((p - middle) / half);
    const double n = static_cast<double>(x.size());
    recurrence r;
    r.root_b.push_back(0);
    std::vector<double> last(x.size(), 0), now(x.size(), 1);
    for (int k = 0; k < count; ++k) {
        double a = 0;
        for (std::size_t i = 0; i < x.size(); ++i) a += x[i] * now[i] * now[i] / n;
        r.a.push_back(a);
        std::vector<double> next(x.size());
        double norm = 0;
        for (std::size_t i = 0; i < x.size(); ++i) {
            next[i] = (x[i] - a) * now[i] - r.root_b.back() * last[i];
            norm += next[i] * next[i] / n;
        }
        // The polynomial whose degree is the number of points is zero on all of them: its scale
        // does not matter, only its roots do.
        const double scale = norm > 1e-24 ? std::sqrt(norm) : 1;
        r.root_b.push_back(scale);
        for (double& v : next) v /= scale;
        last.swap(now);
        now.swap(next);
    }
    std::vector<double> roots;
    for (int k = 1; k <= count; ++k) {
        // Between each two roots of the polynomial before lies one of this one.
        const std::vector<double> before = std::exchange(roots, {});
        for (std::size_t i = 0; i <= before.size(); ++i) {
            double a = i == 0 ? -1.000001 : before[i - 1];
            double b = i == before.size() ? 1.000001 : before[i];
            const bool rises = r.at(b, k).back() > r.at(a, k).back();
            for (int step = 0; step < 60; ++step) {
                const double c = (a + b) / 2;
                ((r.at(c, k).back() > 0) == rises ? b : a) = c;
            }
            roots.push_back((a + b) / 2);
        }
    }
    quadrature q;
    for (const double root : roots) {
        double sum = 0;
        for (const double p : r.at(root, count - 1)) sum += p * p;
        q.nodes.push_back(middle + half * root);
        q.weights.push_back(1 / sum);
    }
    return q;
}

}  // namespace wip::bin_model
