// SPDX-License-Identifier: GPL-3.0-or-later
// Prediction of the bins' SNR on the typical urban channel, against the TRUE SNR of the slot that
// was predicted: NMSE = sum (g - g^)^2 / sum g^2 over all bins, settled slots and realisations.
//   ours   the receiver's prediction
//   last   the SNR that the receiver measured `horizon` slots before
//   burg   per bin: AR of order 16 by Burg's method over the last 192 mean gains of the bin that
//          the receiver estimated (steps of CFO and timing taken out), iterated; |h^|^2 + error
//          variance, fitted anew every 8 slots
// Also the bias of ours (mean predicted over mean true) and the receiver's own idea of its NMSE.
#include "burg.h"
#include "curve_world.h"

namespace wip::curves {

namespace {

constexpr int warm_up = 500;  // slots: 333 ms to learn
constexpr int measured = 1000;
constexpr int window = 192, order = 16, refit = 8;

struct score {
    double error = 0, power = 0, predicted = 0, real = 0;
    void add(double g, double p) {
        error += (g - p) * (g - p);
        power += g * g;
        predicted += p;
        real += g;
    }
    double nmse() const { return power > 0 ? error / power : -1; }
    double bias_db() const { return real > 0 ? to_db(predicted / real) : 0; }
};

using bins = std::array<double, nof_bins>;

struct history {
    std::array<std::vector<cf64>, nof_bins> gain;
    std::array<autoregression, nof_bins> model;
    double turns = 0;
};

// Prediction per bin from the receiver's channel estimates.
bool predict_burg(history& past, const phy::received_slot& r, double cfo_hz, double timing,
                  int slot_number, int horizon, bins& out) {
    // The receiver turns the samples back by its CFO; its steps must not look like Doppler. The
    // phase of the correction at the middle of the slot, relative to a constant one:
    const double slot_s = 1.0 / static_cast<double>(slots_per_second);
    const double middle = past.turns + cfo_hz * slot_s / 2;
    past.turns += cfo_hz * slot_s;
    const cf64 back = std::polar(1.0, 2 * std::numbers::pi * std::fmod(middle, 1.0));
    for (std::size_t b = 0; b < nof_bins; ++b) {
        cf64 mean{};
        for (std::size_t c = 0; c < subcarriers_per_bin; ++c)
            mean += cf64(r.channel[b * subcarriers_per_bin + c]) / double{subcarriers_per_bin};
        // Timing steps turn a bin by its distance from the middle of the band.
        mean *= std::polar(1.0, -2 * std::numbers::pi * (static_cast<double>(b) - 12) *
                                    subcarriers_per_bin * std::remainder(timing, slot_samples) /
                                    fft_size);
        auto& g = past.gain[b];
        g.push_back(mean * back);
        if (g.size() > window) g.erase(g.begin());
        if (g.size() < window) continue;
        if (slot_number % refit == 0) past.model[b] = burg(g, order);
        if (past.model[b].a.empty()) continue;
        const auto p = predict(past.model[b], g, horizon);
        double power = 0;
        for (std::size_t c = 0; c < subcarriers_per_bin; ++c)
            power += std::norm(cf64(r.channel[b * subcarriers_per_bin + c])) /
                     double{subcarriers_per_bin};
        const double noise = power / from_db(static_cast<double>(r.snr_db[b]));
        out[b] = (std::norm(p.value) + p.variance) / noise;
    }
    return !past.model[0].a.empty();
}

void point(double kmh, int horizon, double snr_db, const options& o) {
    score ours, last, ar;
    double own = 0;
    std::int64_t missing = 0;
    phy::slot_receiver receiver({.horizon_slots = horizon});
    for (int t = 0; t < o.trials; ++t) {
        world w({.profile = "jakes",
                 .doppler_hz = doppler_of(kmh),
                 .snr_db = snr_db,
                 .seed = o.seed + 101 * static_cast<std::uint64_t>(t)});
        constexpr int slots = warm_up + measured;
        std::vector<std::optional<bins>> by_us(slots + 64), by_last(slots + 64), by_ar(slots + 64);
        history past;
        truth now;
        for (int i = 0; i < slots; ++i) {
            w.next();
            const double cfo_used = receiver.state().cfo_hz;
            const double timing_used = receiver.state().timing_samples;
            feed(receiver, w, [&](const phy::received_slot& r) {
                if (!r.locked || r.channel.empty()) return;
                const auto to = static_cast<std::size_t>(i + horizon);
                bins p{}, l{}, a{};
                for (std::size_t b = 0; b < nof_bins; ++b) {
                    p[b] = from_db(static_cast<double>(r.predicted_snr_db[b]));
                    l[b] = from_db(static_cast<double>(r.snr_db[b]));
                }
                by_us[to] = p;
                by_last[to] = l;
                if (predict_burg(past, r, cfo_used, timing_used, i, horizon, a)) by_ar[to] = a;
            });
            if (i < warm_up) continue;
            const auto at = static_cast<std::size_t>(i);
            if (!by_us[at] || !by_ar[at]) {
                ++missing;
                continue;
            }
            w.look(now);
            for (std::size_t b = 0; b < nof_bins; ++b) {
                const double g = now.power[b] * w.snr;
                ours.add(g, (*by_us[at])[b]);
                last.add(g, (*by_last[at])[b]);
                ar.add(g, (*by_ar[at])[b]);
            }
        }
        own += receiver.state().prediction_nmse / o.trials;
    }
    std::printf(
        "{\"curve\":\"prediction\",\"kmh\":%g,\"horizon\":%d,\"snr_db\":%g,\"nmse\":%.5g,"
        "\"last\":%.5g,\"burg\":%.5g,\"own\":%.5g,\"bias_db\":%.4f,\"missing\":%lld}\n",
        kmh, horizon, snr_db, ours.nmse(), last.nmse(), ar.nmse(), own, ours.bias_db(),
        static_cast<long long>(missing));
    std::fflush(stdout);
}

}  // namespace

void prediction_curve(const options& o) {
    if (o.full) {
        for (int horizon = 1; horizon <= 8; ++horizon) point(75, horizon, 16, o);
        for (const double kmh : {3.0, 10.0, 20.0, 30.0, 45.0, 60.0, 90.0, 100.0})
            point(kmh, 3, 16, o);
    } else {
        for (const int horizon : {1, 3}) point(75, horizon, 16, o);
    }
}

}  // namespace wip::curves
