// SPDX-License-Identifier: GPL-3.0-or-later
// Prediction of the bins' SNR on the typical urban channel, against the TRUE SNR of the slot that
// was predicted: NMSE = sum (g - g^)^2 / sum g^2 over all bins, settled slots and realisations.
//   nmse   the receiver's prediction with the default predictor (delay domain)
//   ar, ls, kalman   the same receiver with the other predictors
//   last   the SNR that the receiver measured in the slot `horizon` before alone, as it is
//   mean   the least that the last value can do: `last` as a predictor, scaled to the conditional
//          mean
// Also the bias of the default (mean predicted over mean true) and the receiver's own idea of its
// NMSE. Each without shadowing and with that of the profile.
#include "curve_world.h"

namespace wip::curves {

namespace {

constexpr int warm_up = 500;  // slots: 333 ms to learn
constexpr int measured = 1000;

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

bins of_slot_alone(const phy::received_slot& r) {
    bins out;
    for (std::size_t b = 0; b < nof_bins; ++b)
        out[b] = static_cast<double>(r.bin_power[b]) / static_cast<double>(r.bin_noise[b]);
    return out;
}

bins linear(const std::array<float, nof_bins>& db) {
    bins out;
    for (std::size_t b = 0; b < nof_bins; ++b) out[b] = from_db(static_cast<double>(db[b]));
    return out;
}

// A receiver with one predictor, and what it said about the slots to come.
struct candidate {
    std::string name;
    phy::slot_receiver receiver;
    std::vector<std::optional<bins>> reported;
    score result;

    candidate(std::string_view method, int horizon)
        : name(method), receiver({.horizon_slots = horizon, .predictor = name}) {}
};

struct place {
    double kmh;
    int horizon;
    bool shadowing = false;
    bool default_only = false;
};

void point(const place& p, const options& o) {
    constexpr double snr_db = 16;
    const int horizon = p.horizon;
    std::vector<std::unique_ptr<candidate>> all;
    for (const auto name : phy::predictor_names)
        if (!p.default_only || name == phy::default_predictor)
            all.push_back(std::make_unique<candidate>(name, horizon));
    score last;
    double own = 0;
    std::int64_t missing = 0;
    for (int t = 0; t < o.trials; ++t) {
        world w({.profile = "jakes",
                 .doppler_hz = doppler_of(p.kmh),
                 .shadowing = p.shadowing,
                 .snr_db = snr_db,
                 .seed = o.seed + 101 * static_cast<std::uint64_t>(t)});
        constexpr int slots = warm_up + measured;
        std::vector<std::optional<bins>> held(slots + 64);
        for (auto& c : all) c->reported.assign(slots + 64, {});
        truth now;
        for (int i = 0; i < slots; ++i) {
            w.next();
            const auto to = static_cast<std::size_t>(i + horizon);
            for (auto& c : all)
                feed(c->receiver, w, [&](const phy::received_slot& r) {
                    if (!r.locked || r.channel.empty()) return;
                    c->reported[to] = linear(r.predicted_snr_db);
                    held[to] = of_slot_alone(r);
                });
            if (i < warm_up) continue;
            const auto at = static_cast<std::size_t>(i);
            bool all_reported = true;
            for (const auto& c : all) all_reported = all_reported && c->reported[at];
            if (!all_reported) {
                ++missing;
                continue;
            }
            w.look(now);
            for (std::size_t b = 0; b < nof_bins; ++b) {
                const double g = now.power[b] * w.snr;
                for (auto& c : all) c->result.add(g, (*c->reported[at])[b]);
                last.add(g, (*held[at])[b]);
            }
        }
        for (auto& c : all)
            if (c->name == phy::default_predictor)
                own += c->receiver.state().prediction_nmse / o.trials;
    }
    std::printf(
        "{\"curve\":\"prediction\",\"kmh\":%g,\"horizon\":%d,\"shadowing\":%d,\"snr_db\":%g,"
        "\"last\":%.5g,",
        p.kmh, horizon, p.shadowing, snr_db, last.nmse());
    double bias = 0;
    for (const auto& c : all) {
        const bool best = c->name == phy::default_predictor;
        if (best) bias = c->result.bias_db();
        const char* key = best ? "nmse" : c->name == "last" ? "mean" : c->name.c_str();
        std::printf("\"%s\":%.5g,", key, c->result.nmse());
    }
    std::printf("\"own\":%.5g,\"bias_db\":%.4f,\"missing\":%lld}\n", own, bias,
                static_cast<long long>(missing));
    std::fflush(stdout);
}

}  // namespace

void prediction_curve(const options& o) {
    if (o.full) {
        for (const bool shadowing : {false, true}) {
            for (int horizon = 1; horizon <= 8; ++horizon) point({75, horizon, shadowing}, o);
            for (const double kmh : {3.0, 10.0, 20.0, 30.0, 45.0, 60.0, 90.0, 100.0})
                point({kmh, 3, shadowing}, o);
        }
    } else {
        for (const int horizon : {1, 3}) point({75, horizon}, o);
        point({.kmh = 75, .horizon = 3, .shadowing = true, .default_only = true}, o);
    }
}

}  // namespace wip::curves
