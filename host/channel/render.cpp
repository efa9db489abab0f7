// SPDX-License-Identifier: GPL-3.0-or-later
#include "channel/render.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>
#include <vector>

#include "bin/gain_prediction.h"
#include "channel/predictor_run.h"
#include "trace/trace_file.h"
#include "types/db.h"
#include "types/require.h"

namespace wip::channel_program {
namespace {

using bin_model::trace_row;

// A row in dB, within the range of a trace: a fade deeper than -60 dB is one of -60 dB.
trace_row to_db(const trace_row& linear) {
    trace_row r;
    for (std::size_t b = 0; b < nof_bins; ++b)
        r[b] = std::clamp(10 * std::log10(std::max(linear[b], 1e-30f)),
                          static_cast<float>(bin_model::lowest_snr_db),
                          static_cast<float>(bin_model::highest_snr_db));
    return r;
}

// The definition as used: its text, and what was chosen.
std::string used_text(const profiles::channel_definition& d, const render_config& c,
                      const sample_model::channel_config& channel, double speed_kmh) {
    char line[300];
    std::snprintf(line, sizeof line,
                  "# as used: seed %llu, user %zu, largest speed %.6g km/h at %.6g Hz, shadowing "
                  "%.6g dB\n",
                  static_cast<unsigned long long>(c.seed), c.choice.user, speed_kmh,
                  channel.movement.carrier_hz,
                  channel.large_scale.shadowing ? channel.large_scale.shadowing->deviation_db : 0);
    return d.text + (d.text.ends_with('\n') ? "" : "\n") + line;
}

}  // namespace

void render(const render_config& c) {
    check_range("--duration", c.seconds, 1.0 / slots_per_second, 7 * 86400.0);
    check_range("--horizon", c.horizon_slots, 0, trace::longest_horizon);
    const auto definition = profiles::load_definition(c.channel, c.delay_spread_ns);
    const bin_model::fading_config fading{.channel = realise(definition, c.choice, c.seed),
                                          .mean_snr_db = c.mean_snr_db,
                                          .seed = c.seed,
                                          .purpose = static_cast<std::uint32_t>(c.choice.user)};
    bin_model::fading_channel channel(fading);
    std::unique_ptr<bin_model::gain_prediction> given;
    std::unique_ptr<predictor_run> predictor;
    if (c.nmse)
        given = std::make_unique<bin_model::gain_prediction>(fading, *c.nmse,
                                                             slot_count(c.horizon_slots));
    if (c.predictor) predictor = std::make_unique<predictor_run>(fading, c.horizon_slots, c.method);

    const sample_model::motion movement(fading.channel.movement,
                                        static_cast<double>(sample_rate_hz));
    trace::trace_info info{.channel = definition.name,
                           .definition = {},
                           .seed = c.seed,
                           .mean_snr_db = c.mean_snr_db,
                           .speed_kmh = movement.largest_doppler_hz() *
                                        sample_model::speed_of_light /
                                        fading.channel.movement.carrier_hz * 3.6,
                           .carrier_hz = fading.channel.movement.carrier_hz,
                           .software = c.software};
    info.definition = used_text(definition, c, fading.channel, info.speed_kmh);
    if (given || predictor)
        info.prediction = trace::prediction_info{.horizon_slots = c.horizon_slots,
                                                 .method = given ? "nmse" : "predictor",
                                                 .nmse = c.nmse.value_or(0)};
    trace::writer out(c.file, info);
    const std::int64_t slots = std::llround(c.seconds * slots_per_second);
    std::vector<trace_row> snr, predicted;
    double error = 0, power = 0;
    for (std::int64_t t = 0; t < slots; ++t) {
        trace_row g, p;
        if (predictor)
            predictor->next(g, p);
        else
            channel.snr(slot(t), g);
        if (given) given->predicted_snr(slot(t), p);
        snr.push_back(to_db(g));
        if (info.prediction) {
            predicted.push_back(to_db(p));
            for (std::size_t b = 0; b < nof_bins; ++b) {
                const double truth = static_cast<double>(g[b]);
                const double d = truth - static_cast<double>(p[b]);
                error += d * d;
                power += truth * truth;
            }
        }
        if (snr.size() == trace::chunk_slots || t + 1 == slots) {
            out.append(snr, predicted);
            snr.clear();
            predicted.clear();
        }
    }
    if (info.prediction) {
        info.prediction->measured_nmse = power > 0 ? error / power : 0;
        if (predictor) info.prediction->nmse = info.prediction->measured_nmse;
    }
    out.finish(info.prediction);
}

}  // namespace wip::channel_program
