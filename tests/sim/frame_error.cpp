// SPDX-License-Identifier: GPL-3.0-or-later
#include "frame_error.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "link/symbol_error.h"

namespace wip::sim {

double frame_ok(int k, double snr) {
    static const auto curves = [] {
        std::array<std::vector<double>, 9> c;
        for (int i = 1; i <= 8; ++i) {
            const symbol_error e(i);
            for (int db = -300; db <= 600; ++db)
                c[static_cast<std::size_t>(i)].push_back(e.frame_ok(std::pow(10, db / 100.0)));
        }
        return c;
    }();
    const double db = 10 * std::log10(std::max(snr, 1e-3));
    const auto i = static_cast<std::size_t>(std::clamp(std::lround(db * 10) + 300L, 0L, 900L));
    return curves[static_cast<std::size_t>(k)][i];
}

}  // namespace wip::sim
