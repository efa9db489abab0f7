// SPDX-License-Identifier: GPL-3.0-or-later
// Acquisition from cold on the typical urban channel: CFO uniform in +-10 kHz, the first sample
// anywhere in a slot, any slot in frame. Time to lock: from the first sample to the end of the slot
// that reports lock. A lock with another slot number than the sender's, or a CFO more than 1 kHz
// off, is `wrong`. The cell is told (the receiver has it as a parameter). Noise alone: locks in so
// many slots.
#include "curve_world.h"

namespace wip::curves {

namespace {

constexpr int limit = 150;  // slots, 100 ms

void trials(double snr_db, double kmh, const options& o) {
    std::mt19937_64 random(o.seed * 7919 + static_cast<std::uint64_t>(snr_db * 10 + 100));
    std::uniform_real_distribution<double> cfo(-1e4, 1e4);
    phy::slot_receiver receiver({});
    std::string times;
    int wrong = 0, within = 0;
    for (int t = 0; t < o.trials; ++t) {
        world w({.profile = "jakes",
                 .doppler_hz = doppler_of(kmh),
                 .snr_db = snr_db,
                 .cfo_hz = cfo(random),
                 .seed = o.seed + 31 * static_cast<std::uint64_t>(t)});
        const auto skipped = static_cast<std::size_t>(random() % slot_samples);
        const int slots_before = static_cast<int>(random() % slots_per_frame);
        w.skip(slots_before);
        double lock_ms = -1;
        bool good = true;
        // The receiver counts its own samples from zero; a count that jumps back makes it start
        // anew.
        std::int64_t given = 0;
        for (int i = 0; i < limit && lock_ms < 0; ++i) {
            w.next();
            const std::size_t from = i == 0 ? skipped : 0;
            const std::span<const cf32> in(w.noisy.data() + from, w.noisy.size() - from);
            receiver.process(sample(given), in, [&](const phy::received_slot& r) {
                if (!r.locked || lock_ms >= 0) return;
                lock_ms = 1e3 * static_cast<double>(given + static_cast<std::int64_t>(in.size())) /
                          static_cast<double>(sample_rate_hz);
                // Which of the sender's slots the report is about, by its sample time.
                const double at =
                    static_cast<double>(r.start.value + static_cast<std::int64_t>(skipped)) -
                    w.mean_delay();
                const std::int64_t air =
                    first_slot + slots_before + std::llround(at / slot_samples);
                good = r.slot_in_hyperframe == air &&
                       std::abs(receiver.state().cfo_hz - w.config.cfo_hz) < 1e3;
            });
            given += static_cast<std::int64_t>(in.size());
        }
        wrong += !good;
        within += good && lock_ms >= 0 && lock_ms <= 40;
        char text[32];
        std::snprintf(text, sizeof text, "%s%.2f", t == 0 ? "" : ",", lock_ms);
        times += text;
    }
    std::printf(
        "{\"curve\":\"acquisition\",\"snr_db\":%g,\"kmh\":%g,\"trials\":%d,\"within_40_ms\":%d,"
        "\"wrong\":%d,\"lock_ms\":[%s]}\n",
        snr_db, kmh, o.trials, within, wrong, times.c_str());
    std::fflush(stdout);
}

void noise_only(const options& o) {
    const std::int64_t slots = std::int64_t{o.trials} * (o.full ? 300 : 50);
    phy::slot_receiver receiver({});
    sample_model::noise source(1e-3, o.seed, 3);
    const std::vector<cf32> nothing(slot_samples);
    std::vector<cf32> x(slot_samples);
    for (std::int64_t i = 0; i < slots; ++i) {
        source.work(nothing, x);
        receiver.process(first_sample(slot(i)), x, [](const phy::received_slot&) {});
    }
    std::printf("{\"curve\":\"noise\",\"slots\":%lld,\"locks\":%llu}\n",
                static_cast<long long>(slots),
                static_cast<unsigned long long>(receiver.state().locks));
}

}  // namespace

void acquisition_curve(const options& o) {
    if (o.full) {
        for (const double snr_db : {0.0, 2.0, 4.0, 6.0, 8.0, 10.0, 16.0}) trials(snr_db, 75, o);
        trials(6, 3, o);
    } else {
        trials(6, 75, o);
    }
    noise_only(o);
}

}  // namespace wip::curves
