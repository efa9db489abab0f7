// SPDX-License-Identifier: GPL-3.0-or-later
// Expected goodput of all 25 bins per switch table against mean SNR, Rayleigh fading, by the model
// behind the tables (docs/mac.md): gain g = g^ + e, E|e|^2 = s, NMSE = s - s^2/2, predicted power
// |g^|^2 + s, true power |g^ + e|^2; a frame's 108 k bits count when no symbol is wrong. Both
// tables with perfect prediction and with NMSE 0.1; beside them the best choice of one fixed
// modulation. The average over fading: `draws` pairs (g^, e) from a fixed seed, the same for all
// points.
#include "curve_world.h"
#include "link/switch_table.h"
#include "link/symbol_error.h"

namespace wip::curves {

void goodput_curve(const options& o) {
    constexpr int steps = 1400;  // -20 .. 50 dB by 0.05
    std::array<std::array<double, steps + 1>, max_bits_per_symbol + 1> bits{};
    for (int k = 1; k <= max_bits_per_symbol; ++k) {
        const symbol_error error(k);
        for (int i = 0; i <= steps; ++i)
            bits[static_cast<std::size_t>(k)][static_cast<std::size_t>(i)] =
                k * error.frame_ok(from_db(-20 + 0.05 * i));
    }
    const auto right = [&](int k, double snr) {
        const double at = std::clamp((to_db(snr + 1e-9) + 20) / 0.05, 0.0, double{steps});
        return bits[static_cast<std::size_t>(k)][static_cast<std::size_t>(at + 0.5)];
    };
    const int draws = 2000 * (o.full ? o.trials : 10);
    std::mt19937_64 random(o.seed);
    std::normal_distribution<double> normal(0, std::sqrt(0.5));
    std::vector<std::array<cf64, 2>> dice(static_cast<std::size_t>(draws));
    for (auto& d : dice)
        for (auto& v : d) v = {normal(random), normal(random)};
    const switch_table tables[] = {switch_table(switch_table_kind::nmse_0),
                                   switch_table(switch_table_kind::nmse_0_1)};
    const double kbps = 4050;  // a bit per symbol in all bins
    for (int mean_db = 0; mean_db <= 36; mean_db += o.full ? 2 : 8) {
        const double mean = from_db(mean_db);
        std::array<double, max_bits_per_symbol + 1> fixed{};
        double sum[2][2] = {};
        for (int which = 0; which < 2; ++which) {
            const double s = which == 0 ? 0 : 1 - std::sqrt(1 - 2 * 0.1);
            for (const auto& d : dice) {
                const cf64 known = std::sqrt(1 - s) * d[0];
                const double predicted = mean * (std::norm(known) + s);
                const double real = mean * std::norm(known + std::sqrt(s) * d[1]);
                for (int t = 0; t < 2; ++t)
                    sum[t][which] +=
                        right(
                            tables[t].bits_per_symbol(static_cast<float>(to_db(predicted + 1e-9))),
                            real) /
                        draws;
                if (which == 0)
                    for (int k = 1; k <= max_bits_per_symbol; ++k)
                        fixed[static_cast<std::size_t>(k)] += right(k, real) / draws;
            }
        }
        std::printf(
            "{\"curve\":\"goodput\",\"snr_db\":%d,\"table_0_at_0\":%.2f,\"table_0_at_0_1\":%.2f,"
            "\"table_0_1_at_0\":%.2f,\"table_0_1_at_0_1\":%.2f,\"fixed_best\":%.2f}\n",
            mean_db, kbps * sum[0][0], kbps * sum[0][1], kbps * sum[1][0], kbps * sum[1][1],
            kbps * *std::max_element(fixed.begin(), fixed.end()));
    }
}

}  // namespace wip::curves
