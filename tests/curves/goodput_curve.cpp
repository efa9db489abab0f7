// SPDX-License-Identifier: GPL-3.0-or-later
// Expected goodput of all 25 bins per switch table against mean SNR, Rayleigh fading, by the model
// behind the tables (docs/explanation/mac.md): gain g = g^ + e, E|e|^2 = s, NMSE = s - s^2/2,
// predicted power |g^|^2 + s, true power |g^ + e|^2; a frame's 108 k - 24 payload bits count when
// no symbol is wrong. Each table at each NMSE of the literature's marks and at 0.1; the table
// `measured` gets what the base station would make of the reported NMSE (link/prediction_error.h),
// so its way to the error level is part of the measurement. Beside them the best choice of one
// fixed modulation, and `coded`: the table `measured` where predictions and NMSE come as the codes
// of a feedback form (wire/feedback_bits.h). The average over fading: `draws` pairs (g^, e) from a
// fixed seed, the same for all points.
#include "curve_world.h"
#include "link/prediction_error.h"
#include "link/switch_table.h"
#include "link/symbol_error.h"
#include "wire/feedback_bits.h"

namespace wip::curves {

void goodput_curve(const options& o) {
    constexpr int steps = 1400;  // -20 .. 50 dB by 0.05
    std::array<std::array<double, steps + 1>, max_bits_per_symbol + 1> bits{};
    for (int k = 1; k <= max_bits_per_symbol; ++k) {
        const symbol_error error(k);
        for (int i = 0; i <= steps; ++i)
            bits[static_cast<std::size_t>(k)][static_cast<std::size_t>(i)] =
                frame_payload_bits(link_profile::radio, k) *
                error.frame_ok(from_db(-20 + 0.05 * i));
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
    constexpr struct {
        double nmse;
        const char* name;
    } errors[] = {{0, "0"},           {0.0085, "0_0085"}, {0.0356, "0_0356"},
                  {0.0963, "0_0963"}, {0.1, "0_1"},       {0.2, "0_2"}};
    constexpr struct {
        switch_table_kind kind;
        const char* name;
    } kinds[] = {{switch_table_kind::nmse_0, "table_0"},
                 {switch_table_kind::nmse_0_1, "table_0_1"},
                 {switch_table_kind::measured, "measured"}};
    const double kbps = nof_bins * slots_per_second / 1000.0 / draws;
    for (int mean_db = 0; mean_db <= 36; mean_db += o.full ? 2 : 8) {
        const double mean = from_db(mean_db);
        std::array<double, max_bits_per_symbol + 1> fixed{};
        for (const auto& d : dice)
            for (int k = 1; k <= max_bits_per_symbol; ++k)
                fixed[static_cast<std::size_t>(k)] += right(k, mean * std::norm(d[0]));
        std::printf("{\"curve\":\"goodput\",\"snr_db\":%d,\"fixed_best\":%.2f", mean_db,
                    kbps * *std::max_element(fixed.begin(), fixed.end()));
        for (const auto& e : errors) {
            const double s = 1 - std::sqrt(1 - 2 * e.nmse);
            const auto predicted = [&](std::size_t i) {
                return to_db(mean * ((1 - s) * std::norm(dice[i][0]) + s) + 1e-9);
            };
            prediction_error level;
            for (std::size_t i = 0; i + nof_bins <= dice.size(); i += nof_bins) {
                std::array<float, nof_bins> report;
                for (std::size_t b = 0; b < nof_bins; ++b)
                    report[b] = static_cast<float>(predicted(i + b));
                level.add(report, static_cast<float>(e.nmse));
            }
            const auto goodput = [&](const switch_table& table, const auto& reported) {
                double sum = 0;
                for (std::size_t i = 0; i < dice.size(); ++i) {
                    const cf64 gain = std::sqrt(1 - s) * dice[i][0] + std::sqrt(s) * dice[i][1];
                    sum += right(table.bits_per_symbol(reported(i)), mean * std::norm(gain));
                }
                return kbps * sum;
            };
            for (const auto& kind : kinds) {
                switch_table table(kind.kind, link_profile::radio);
                table.set_error(level.level());
                std::printf(",\"%s_at_%s\":%.2f", kind.name, e.name,
                            goodput(table, [&](std::size_t i) { return db(predicted(i)); }));
            }
            const auto coded = [&](std::size_t i) {
                return snr_of_code(snr_code(db(predicted(i))));
            };
            prediction_error coded_level;
            for (std::size_t i = 0; i + nof_bins <= dice.size(); i += nof_bins) {
                std::array<float, nof_bins> report;
                for (std::size_t b = 0; b < nof_bins; ++b) report[b] = coded(i + b).single();
                coded_level.add(report, nmse_of_code(nmse_code(static_cast<float>(e.nmse))));
            }
            switch_table table(switch_table_kind::measured, link_profile::radio);
            table.set_error(coded_level.level());
            std::printf(",\"coded_at_%s\":%.2f", e.name, goodput(table, coded));
        }
        std::printf("}\n");
    }
}

}  // namespace wip::curves
