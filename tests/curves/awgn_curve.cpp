// SPDX-License-Identifier: GPL-3.0-or-later
// Symbol and frame error rate of the eight constellations through the whole PHY in white noise,
// beside exact theory. The points lie where theory expects a given symbol error rate, but not below
// 4 dB, where grants get lost. `loss_db`: by how much less SNR theory has the measured rate.
#include "../unit/phy/symbol_error_theory.h"
#include "curve_world.h"
#include "phy/coding/frame_coder.h"
#include "phy/grid/sequence.h"

namespace wip::curves {

namespace {

using phy::test::exact_symbol_error_rate;

double snr_for(const exact_symbol_error_rate& theory, double rate) {
    double low = -20, high = 50;
    while (high - low > 0.001) {
        const double middle = (low + high) / 2;
        (theory(from_db(-middle)) > rate ? low : high) = middle;
    }
    return high;
}

void point(int k, double snr_db, int slots, const options& o,
           const exact_symbol_error_rate& theory) {
    world w({.snr_db = 30, .bits_per_symbol = k, .seed = o.seed + static_cast<std::uint64_t>(k)});
    phy::slot_receiver receiver({});
    const phy::constellation points(k);
    std::int64_t errors = 0, symbols = 0, bad = 0, frames = 0, lost = 0;
    constexpr int warm_up = 64;
    for (int i = 0; i < warm_up + slots; ++i) {
        if (i == warm_up / 2) w.set_snr(snr_db);
        w.next();
        feed(receiver, w, [&](const phy::received_slot& r) {
            if (i < warm_up) return;
            if (!r.grant_ok) {
                ++lost;
                return;
            }
            for (std::size_t b = 0; b < nof_bins; ++b) {
                phy::label_array sent{};
                phy::encode_frame(w.sent.payload[b], k,
                                  phy::payload_key(0, w.sent.grant.bins[b].sn, 0), sent);
                for (std::size_t n = 0; n < phy::nof_labels; ++n) {
                    const float re = r.bins[b].symbols[n].real();
                    const float im = r.bins[b].symbols[n].imag();
                    std::uint8_t got;
                    points.slice(&re, &im, &got, 1);
                    errors += got != sent[n];
                    ++symbols;
                }
                ++frames;
                bad += r.bins[b].outcome != frame_outcome::good;
            }
        });
    }
    const double ser = static_cast<double>(errors) / static_cast<double>(symbols);
    const double expected = theory(from_db(-snr_db));
    std::printf(
        "{\"curve\":\"awgn\",\"bits\":%d,\"snr_db\":%.3f,\"ser\":%.6g,\"ser_theory\":%.6g,"
        "\"fer\":%.6g,\"fer_theory\":%.6g,\"loss_db\":%.4f,\"errors\":%lld,\"frames\":%lld,"
        "\"grants_lost\":%lld}\n",
        k, snr_db, ser, expected, static_cast<double>(bad) / static_cast<double>(frames),
        1 - std::pow(1 - expected, phy::nof_labels),
        errors > 0 ? snr_db - snr_for(theory, ser) : 0.0, static_cast<long long>(errors),
        static_cast<long long>(frames), static_cast<long long>(lost));
}

}  // namespace

void awgn_curve(const options& o) {
    for (int k = 1; k <= max_bits_per_symbol; ++k) {
        const exact_symbol_error_rate theory{phy::constellation(k)};
        const std::vector<double> rates =
            o.full ? std::vector<double>{0.3, 0.1, 0.03, 0.01, 0.003, 0.001, 3e-4, 1e-4}
                   : std::vector<double>{0.1, 0.003};
        double before = -100;
        for (const double rate : rates) {
            const double snr_db = std::max(snr_for(theory, rate), 4.0);
            if (snr_db == before) continue;
            before = snr_db;
            point(k, snr_db, 20 * o.trials, o, theory);
        }
    }
}

}  // namespace wip::curves
