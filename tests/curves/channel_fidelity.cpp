// SPDX-License-Identifier: GPL-3.0-or-later
// One definition, one seed, two fidelities: the SNR of 25 bins that the bin-level channel says, and
// what the receiver measures on samples (modulator, delay line, large-scale gain, noise, receiver).
//   channel_fidelity CHANNEL SEED SLOTS MEAN_SNR_DB SPEED_KMH [rows]
// prints one JSON line: root mean square and mean of the difference in dB, where the true SNR is
// above 0 dB and the receiver has lock, by level of the true SNR; the same for the SNR of the one
// slot alone, and the part of the noise (power measured for it over the one that was added). NMSE
// of the receiver's prediction for three slots later against the true SNR, that of the slot alone,
// and the one measured. With `rows` all SNRs before that, one line a slot: 25 true, 25 measured.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <vector>

#include "../unit/phy/phy_link.h"
#include "bin/fading_channel.h"
#include "profiles/channel_definition.h"
#include "sample/large_scale_gain.h"
#include "sample/noise.h"
#include "sample/tapped_delay_line.h"

namespace {

using namespace wip;

constexpr int settling = 60;  // slots: the receiver acquires and learns the noise

struct difference {
    double sum = 0, square = 0;
    long count = 0;
    void add(double d) {
        sum += d;
        square += d * d;
        ++count;
    }
    double rms() const { return count > 0 ? std::sqrt(square / static_cast<double>(count)) : 0; }
    double mean() const { return count > 0 ? sum / static_cast<double>(count) : 0; }
};

struct square_error {
    double error = 0, power = 0;
    void add(double real, double predicted) {
        error += (real - predicted) * (real - predicted);
        power += real * real;
    }
    double nmse() const { return power > 0 ? error / power : 0; }
};

int run(const char* name, std::uint64_t seed, int slots, double mean_snr_db, double kmh,
        bool rows) {
    const auto definition = profiles::load_definition(name);
    const auto channel = profiles::realise(definition, {.speed_kmh = kmh}, seed);
    bin_model::fading_channel truth({channel, mean_snr_db, seed, 0});

    const sample_model::stage_context context{.seed = seed, .purpose = 0};
    const sample_model::motion movement(channel.movement, context.sample_rate);
    sample_model::tapped_delay_line multipath(channel.profile, movement, context);
    sample_model::large_scale_gain level(channel.large_scale, movement, context);
    const double amplitude = static_cast<double>(phy::symbol_amplitude());
    sample_model::noise noise(amplitude * amplitude * fft_size / db(mean_snr_db).power(), seed, 2);
    phy::test::slot_source source(2, static_cast<std::uint32_t>(seed));
    phy::slot_modulator modulator({});
    phy::slot_receiver receiver(phy::slot_receiver_config{});

    difference all, alone, by_noise;
    // by level of the true SNR: 0 to 5, 5 to 10, ... dB, 25 dB and more
    std::array<difference, 6> levels;
    int unlocked = 0;
    constexpr int horizon = 3;
    std::array<std::array<float, nof_bins>, horizon> predicted{};  // by slot modulo horizon
    // against the true SNR, that of the slot alone, and the measured one
    std::array<square_error, 3> prediction;
    for (int t = 0; t < slots; ++t) {
        const std::int64_t at = first_sample(slot(t)).value;
        auto x = phy::test::modulate(modulator, source.make(slot(t)));
        multipath.work(at, x, x);
        if (!level.empty()) level.work(at, x, x);
        noise.work(x, x);
        std::array<float, nof_bins> snr;
        truth.snr(slot(t), snr);
        receiver.process(sample(at), x, [&](const phy::received_slot& r) {
            if (t < settling) return;
            if (!r.locked) {
                ++unlocked;
                return;
            }
            for (std::size_t b = 0; b < nof_bins; ++b) {
                const double real = db::from_power(static_cast<double>(snr[b])).value;
                if (rows) std::printf("%.3f ", real);
                const auto linear = [](float v) { return db(static_cast<double>(v)).power(); };
                auto& reported = predicted[static_cast<std::size_t>(t % horizon)][b];
                if (t >= settling + horizon) {
                    const std::array<double, 3> against{
                        static_cast<double>(snr[b]),
                        static_cast<double>(r.bin_power[b] / r.bin_noise[b]), linear(r.snr_db[b])};
                    for (std::size_t i = 0; i < against.size(); ++i)
                        prediction[i].add(against[i], linear(reported));
                }
                reported = r.predicted_snr_db[b];
                if (real <= 0) continue;
                const double d = static_cast<double>(r.snr_db[b]) - real;
                all.add(d);
                const double alone_noise = static_cast<double>(r.bin_noise[b]);
                alone.add(db::from_power(static_cast<double>(r.bin_power[b]) / alone_noise).value -
                          real);
                by_noise.add(-db::from_power(alone_noise * db(mean_snr_db).power()).value);
                levels[std::min<std::size_t>(5, static_cast<std::size_t>(real / 5))].add(d);
            }
            if (!rows) return;
            for (const float v : r.snr_db) std::printf("%.3f ", static_cast<double>(v));
            std::printf("\n");
        });
    }
    std::printf(
        "{\"channel\": \"%s\", \"seed\": %llu, \"slots\": %d, \"unlocked\": %d, \"count\": %ld, "
        "\"nmse_true\": %.4f, \"nmse_alone\": %.4f, \"nmse_measured\": %.4f, "
        "\"rms_db\": %.4f, \"mean_db\": %.4f, \"alone_rms_db\": %.4f, \"alone_mean_db\": %.4f, "
        "\"noise_rms_db\": %.4f, \"noise_mean_db\": %.4f, \"rms_db_by_level\": [",
        name, static_cast<unsigned long long>(seed), slots, unlocked, all.count,
        prediction[0].nmse(), prediction[1].nmse(), prediction[2].nmse(), all.rms(), all.mean(),
        alone.rms(), alone.mean(), by_noise.rms(), by_noise.mean());
    for (const difference& d : levels) std::printf("%s%.4f", &d == &levels[0] ? "" : ", ", d.rms());
    std::printf("]}\n");
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    const bool rows = argc == 7 && std::strcmp(argv[6], "rows") == 0;
    if ((argc != 6 && !rows) || std::atoi(argv[3]) <= settling) {
        std::fprintf(stderr,
                     "usage: channel_fidelity CHANNEL SEED SLOTS MEAN_SNR_DB SPEED_KMH [rows]\n");
        return 2;
    }
    try {
        return run(argv[1], std::strtoull(argv[2], nullptr, 10), std::atoi(argv[3]),
                   std::atof(argv[4]), std::atof(argv[5]), rows);
    } catch (const std::invalid_argument& e) {
        std::fprintf(stderr, "channel_fidelity: %s\n", e.what());
        return 2;
    }
}
